// RUN: lf-opt %s | lf-opt | FileCheck %s

// Two receives are under way at once, waited for in the order of their posts; what lies beside them is free to use, and
// their places are when they have been waited for.
// CHECK: lfrt.message 0 to 1 tag 2 : !lfrt.buffer<f32 x 64>
// CHECK: lfrt.post_recv "x" %{{.*}} from 0 tag 2 : <f32 x 64>
// CHECK: lfrt.wait_recv "x" %{{.*}} from 0 tag 2 : <f32 x 64>
// CHECK-LABEL: lfrt.program @pp1
// CHECK-COUNT-8: lfrt.run
lfrt.message 0 to 1 tag 2 : !lfrt.buffer<f32 x 64>
lfrt.func "action" @post "" names ["output"] {
^bb0(%y: !lfrt.buffer<f32 x 64>):
  lfrt.post_recv "x" %y from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @wait "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  lfrt.wait_recv "x" %x from 0 tag 2 : !lfrt.buffer<f32 x 64>
}
lfrt.func "action" @work "" names ["input", "output"] {
^bb0(%x: !lfrt.buffer<f32 x 64>, %y: !lfrt.buffer<f32 x 64>):
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%y : !lfrt.buffer<f32 x 64>) args [64]
}
lfrt.program @pp1 pp 1 {
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 0> {live = 0 : i64}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 256> output <"saved" at 0> {live = 0 : i64}
  lfrt.run @post micro_batch 0 bundle 0 output <"workspace" at 512> {live = 0 : i64}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 256> output <"workspace" at 768> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 0> {live = 0 : i64}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 0> output <"workspace" at 256> {live = 0 : i64}
  lfrt.run @wait micro_batch 0 bundle 0 input <"workspace" at 512> {live = 0 : i64}
  lfrt.run @work micro_batch 0 bundle 0 input <"workspace" at 512> output <"workspace" at 0> {live = 0 : i64}
}
