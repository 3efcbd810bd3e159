// RUN: cat %S/Inputs/block-functions.mlir %s | lf-opt --lf-verify-lowerable --lf-lower-to-runtime | FileCheck %s

// Groups that are used become communicators, in the order of use; the world is always one.
// CHECK: lfrt.comm "tp" axes ["tp"]
// CHECK-NEXT: lfrt.comm "dp" axes ["dp"]
// CHECK-NEXT: lfrt.comm "world"

// Regions: parameters of one treatment follow one another over all layers; a shard is padded to 16 elements.
// CHECK: lfrt.place 0 pp 0 layers -1 count 1 at 0 stride 256
// CHECK-NEXT: lfrt.place 2 pp 0 layers 0 count 2 at 256 stride 32
// CHECK-NEXT: lfrt.place 1 pp 0 layers 0 count 2 at 320 stride 16
// CHECK-NEXT: lfrt.region pp 0 at 0 count 320 comm "dp" owned ["tp"] decay
// CHECK-NEXT: lfrt.region pp 0 at 320 count 32 comm "dp" owned []

// A saved value goes to the bundle, behind the layer's input; the input itself is there already.
// CHECK-LABEL: lfrt.func "body" @block.fwd
// CHECK-SAME: names ["input", "output"]
// CHECK: ^bb0([[X:%.+]]: !lfrt.buffer<f32 x 32>, [[Y:%.+]]: !lfrt.buffer<f32 x 32>)
// CHECK: [[N:%.+]] = lfrt.slot "norm" in "bundle" at 128
// CHECK: lfrt.launch "rms_norm" "norm" ins([[X]], {{.*}} outs([[N]]
// CHECK: [[H:%.+]] = lfrt.slot "w" in "workspace" : <f32 x 16>
// CHECK: lfrt.launch "matmul" "w" ins([[N]], {{.*}} outs([[H]] : {{.*}} args [4, 4, 8, 0, 0, 0]
// Gathered along dim 2: the group's index comes outermost and is moved in place.
// CHECK: [[WHOLE:%.+]] = lfrt.slot "w_whole" in "workspace"
// CHECK: [[PARTS:%.+]] = lfrt.slot "w_whole_parts" in "workspace"
// CHECK: [[READY:%.+]] = lfrt.record "compute"
// CHECK-NEXT: lfrt.wait "tp" for [[READY]]
// CHECK-NEXT: lfrt.all_gather "w_whole" [[H]] into [[PARTS]] comm "tp"
// CHECK-NEXT: [[DONE:%.+]] = lfrt.record "tp"
// CHECK-NEXT: lfrt.wait "compute" for [[DONE]]
// CHECK-NEXT: lfrt.launch "transpose" "w_whole" ins([[PARTS]] {{.*}} outs([[WHOLE]] {{.*}} args [2, 4, 4]
// A group of one moves nothing.
// CHECK-NOT: lfrt.all_reduce
// CHECK: lfrt.launch "sum" "sum" ins([[X]], [[WHOLE]] {{.*}} outs([[Y]]

// CHECK-LABEL: lfrt.func "body" @block.bwd
// CHECK: lfrt.launch "slice" {{.*}} args [4, 2, 4, #lfrt.coordinate<["tp"] * 1>]
// A product that is only accumulated goes straight into the gradient.
// CHECK: [[GRADIENT:%.+]] = lfrt.gradient "w" of "block" at 1
// CHECK-NEXT: lfrt.launch "matmul" "w_grad" {{.*}} outs([[GRADIENT]] {{.*}} args [8, 4, 4, 1, 0, 1]
// A reduction that alone uses its operand works in place.
// CHECK: lfrt.all_reduce "d_w_total" "sum" [[D:%.+]] into [[D]] comm "tp"
// CHECK: lfrt.launch "accumulate" "norm_grad"

// Nobody reads the positions.
// CHECK-LABEL: lfrt.func "body" @embed.fwd
// CHECK-SAME: names ["ids", "output"]
// CHECK: lfrt.launch "embedding" {{.*}} args [4, 32, 8, #lfrt.coordinate<["tp"] * 32>]

// The ranks of tp repeat the loss; those of dp do not.
// CHECK-LABEL: lfrt.func "body" @head.fwd
// CHECK: lfrt.add_loss {{.*}} repeated ["tp"]

// The logits' cotangent replaces the logits.
// CHECK-LABEL: lfrt.func "body" @head.bwd
// CHECK: [[L:%.+]] = lfrt.slot "embedding" in "bundle"
// CHECK: lfrt.launch "cross_entropy_grad" {{.*}}ins([[L]], {{.*}} outs([[L]]

// CHECK-LABEL: lfrt.func "action" @stage0.forward
// CHECK: lfrt.call @embed.fwd layers -1 count 1 bundle 128
// CHECK-NEXT: lfrt.call @block.fwd layers 0 count 2 bundle 128 stride 256
// CHECK-NOT: lfrt.call @block.fwd
// CHECK: lfrt.call @head.fwd layers -1 count 1 bundle 640

// CHECK-LABEL: lfrt.program @pp0
// CHECK: lfrt.run @begin_step.pp0
// CHECK-NEXT: lfrt.run @stage0.load micro_batch 0 bundle 0
// CHECK-NEXT: lfrt.run @stage0.forward
// CHECK-NEXT: lfrt.run @stage0.backward
// CHECK-NEXT: lfrt.run @sync_grads.pp0
// CHECK-NEXT: lfrt.run @optimizer_step.pp0

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 2, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.stage @stage0 pp 0 chunk 0 embed layers [@block] counts [2] first 0 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.run "backward" @stage0 micro_batch 0 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
