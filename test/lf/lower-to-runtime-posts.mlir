// RUN: cat %S/Inputs/block-functions.mlir %s | lf-opt --lf-lower | FileCheck %s
// RUN: cat %S/Inputs/block-functions.mlir %s | lf-opt --lf-lower --lf-emit-cpp | mlir-translate --mlir-to-cpp -o %t.cpp
// RUN: FileCheck %s --check-prefix=CPP < %t.cpp
// RUN: c++ -std=c++17 -O1 -Wall -Wextra -Werror -I%S/../../runtime/include -c %t.cpp -o %t.o

// Every message of the step: the gradient of the tied embedding, both ways, inputs, cotangents. Odd edges of the chain of
// stages (into stage 1 and out of it) come after the even ones.
// CHECK:      lfrt.message 0 to 1 tag 4 : !lfrt.buffer<f32 x 256>
// CHECK-NEXT: lfrt.message 1 to 0 tag 4 : !lfrt.buffer<f32 x 256>
// CHECK-NEXT: lfrt.message 1 to 0 tag 1 : !lfrt.buffer<f32 x 32>
// CHECK-NEXT: lfrt.message 0 to 1 tag 2 : !lfrt.buffer<f32 x 32>
// CPP:      static const lf_message messages[] = {
// CPP-NEXT:   {0, 1, 4, 256, LF_F32},
// CPP-NEXT:   {1, 0, 4, 256, LF_F32},
// CPP-NEXT:   {1, 0, 1, 32, LF_F32},
// CPP-NEXT:   {0, 1, 2, 32, LF_F32},

// A cotangent stays where it was received.
// CHECK-LABEL: lfrt.func "action" @stage0.post_backward
// CHECK: lfrt.post_recv "stage0 cotangent" {{.*}} from 1 tag 1
// CHECK-LABEL: lfrt.func "action" @stage0.wait_backward
// CHECK-SAME: names ["input"]
// CHECK: lfrt.wait_recv "stage0 cotangent" {{.*}} from 1 tag 1
// CPP: lf_post_recv(r, "stage0 cotangent", {{.*}}, 32, LF_F32, 1, 1);
// CPP: lf_wait_recv(r, "stage0 cotangent", {{.*}}, 32, LF_F32, 1, 1);

// The place of a cotangent is taken from the post on: the output that is written in between lies elsewhere.
// CHECK-LABEL: lfrt.program @pp0
// CHECK:      lfrt.run @stage0.post_backward micro_batch 0 bundle 0 output <"workspace" at [[IN:[0-9]+]]>
// CHECK-NOT:  at [[IN]]>
// CHECK:      lfrt.run @stage0.send_forward micro_batch 1
// CHECK-NEXT: lfrt.run @stage0.wait_backward micro_batch 0 bundle 0 input <"workspace" at [[IN]]>
// CHECK-NEXT: lfrt.run @stage0.backward micro_batch 0 bundle 0 input <"workspace" at [[IN]]>

// An input is copied on to its bundle: at the post that is still the other micro-batch's.
// CHECK-LABEL: lfrt.func "action" @stage1.wait_forward
// CHECK-SAME: names ["input", "output"]
// CHECK: lfrt.wait_recv "stage1 input" [[X:%.+]] from 0 tag 2
// CHECK-NEXT: lfrt.launch "copy" "stage1 input" ins([[X]] {{.*}} args [32]
// CHECK-LABEL: lfrt.program @pp1
// CHECK: lfrt.run @stage1.post_forward micro_batch 1 bundle 0 output <"workspace" at [[NEXT:[0-9]+]]>
// CHECK-NEXT: lfrt.run @stage1.backward micro_batch 0 bundle 0
// CHECK: lfrt.run @stage1.wait_forward micro_batch 1 bundle 0 input <"workspace" at [[NEXT]]> output <"saved" at 64>

// CPP: messages, 4, // messages

lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [2, 2, 1, 2] names {pp = ["pp"], dp = ["dp"], cp = ["cp"], tp = ["tp"]}
lf.stage @stage0 pp 0 chunk 0 embed layers [@block] counts [1] first 0
lf.stage @stage1 pp 1 chunk 0 layers [@block] counts [1] first 1 head
lf.program @pp0 pp 0 {
  lf.load_batch @stage0 micro_batch 0 slot 0
  lf.run "forward" @stage0 micro_batch 0 slot 0
  lf.send "forward" @stage0 to @stage1 micro_batch 0 slot 0
  lf.load_batch @stage0 micro_batch 1 slot 1
  lf.post_recv "backward" @stage0 from @stage1 micro_batch 0
  lf.run "forward" @stage0 micro_batch 1 slot 1
  lf.send "forward" @stage0 to @stage1 micro_batch 1 slot 1
  lf.recv "backward" @stage0 from @stage1 micro_batch 0 slot 0 posted
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
  lf.post_recv "forward" @stage1 from @stage0 micro_batch 1
  lf.run "backward" @stage1 micro_batch 0 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 0 slot 0
  lf.load_batch @stage1 micro_batch 1 slot 0
  lf.recv "forward" @stage1 from @stage0 micro_batch 1 slot 0 posted
  lf.run "forward" @stage1 micro_batch 1 slot 0
  lf.run "backward" @stage1 micro_batch 1 slot 0
  lf.send "backward" @stage1 to @stage0 micro_batch 1 slot 0
  lf.sync_grads
  lf.optimizer_step "adamw"
}
