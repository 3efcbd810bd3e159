// RUN: cat %S/Inputs/block-functions.mlir %s | lf-opt --lf-lower | FileCheck %s

// The embedding lives on both pipeline ranks, alone in its region; the copy counts in no norm.
// CHECK: lfrt.place 0 pp 0 layers -1 count 1 at 0 stride 256
// CHECK: lfrt.place 0 pp 1 layers -1 count 1 at {{.*}} copy
// CHECK: lfrt.region pp 0 at 0 count 256 comm "dp" owned ["tp"] decay
// CHECK: lfrt.region pp 1 {{.*}} count 256 comm "dp" owned ["tp"] decay copy

// Messages: the tag names the stage that they enter and the pass.
// CHECK-LABEL: lfrt.func "action" @stage0.send_forward
// CHECK: lfrt.send "stage1 input" {{.*}} to 1 tag 2
// CHECK-LABEL: lfrt.func "action" @stage0.receive_backward
// CHECK: lfrt.recv "stage0 cotangent" {{.*}} from 1 tag 1

// After its own reduction, the original's rank adds the copy's gradient and sends back the sum.
// CHECK-LABEL: lfrt.func "action" @sync_grads.pp0
// CHECK: lfrt.all_reduce "embedding_grad"
// CHECK: [[OTHER:%.+]] = lfrt.slot "embedding_copy_grad" in "bundle" at 0
// CHECK-NEXT: lfrt.recv "embedding_grad" [[OTHER]] from 1 tag 4
// CHECK-NEXT: lfrt.launch "accumulate" "embedding_grad" ins([[OTHER]]
// CHECK-NEXT: lfrt.send "embedding_grad" {{.*}} to 1 tag 4

// The first micro-batch's input lies in another bundle than the second's; outputs are sent from one place.
// CHECK-LABEL: lfrt.program @pp0
// CHECK: lfrt.run @stage0.forward micro_batch 0 bundle 0 output <"workspace" at [[OUT:.+]]>
// CHECK-NEXT: lfrt.run @stage0.send_forward micro_batch 0 bundle 0 input <"workspace" at [[OUT]]>
// CHECK: lfrt.run @stage0.forward micro_batch 1 bundle 320 output <"workspace" at [[OUT]]>
// CHECK: lfrt.run @stage0.receive_backward {{.*}} output <"workspace" at [[IN:.+]]>
// CHECK: lfrt.run @stage0.backward micro_batch 0 bundle 0 input <"workspace" at [[IN]]>

// CHECK-LABEL: lfrt.func "action" @sync_grads.pp1
// CHECK: lfrt.send "embedding_grad" [[G:%.+]] to 0 tag 4
// CHECK-NEXT: lfrt.recv "embedding_grad" [[G]] from 0 tag 4

// A received input goes to the bundle of the layer that reads it.
// CHECK-LABEL: lfrt.program @pp1
// CHECK: lfrt.run @stage1.receive_forward micro_batch 0 bundle 0 output <"saved" at 64>

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [2, 2, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.stage @stage0 pp 0 chunk 0 embed layers [@block] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@block] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 1
  lf.run "forward" @stage0 micro_batch 1 slot 1
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.recv "backward" @stage0 from @stage1 micro_batch 1 slot 1
  lf.run "backward" @stage0 micro_batch 1 slot 1
  lf.sync_grads
  lf.optimizer_step "adamw"
}
lf.program @pp1 pp 1 {
  lf.load_batch @stage1 micro_batch 0 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage1 micro_batch 0 slot 0
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.load_batch @stage1 micro_batch 1 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 0
  lf.run "forward" @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage1 micro_batch 1 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
