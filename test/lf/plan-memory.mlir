// RUN: lf-opt %s --lf-plan-memory --lf-verify-lowered -split-input-file | FileCheck %s

// Two values that never live together share bytes.
// CHECK-LABEL: lfrt.func "body" @reuse
// CHECK-SAME: live = 512 : i64, workspace = 512 : i64
// CHECK: lfrt.slot "a" in "workspace" at [[A:[0-9]+]]
// CHECK: lfrt.slot "b" in "workspace" at [[B:[0-9]+]]
// CHECK: lfrt.slot "c" in "workspace" at [[A]]
lfrt.mesh axes ["tp"] sizes [2] names {tp = ["tp"]}
lfrt.comm "tp" axes ["tp"]
lfrt.func "body" @reuse "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  %a = lfrt.slot "a" in "workspace" : !lfrt.buffer<f32 x 64>
  %b = lfrt.slot "b" in "workspace" : !lfrt.buffer<f32 x 64>
  %c = lfrt.slot "c" in "workspace" : !lfrt.buffer<f32 x 64>
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%a : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.launch "copy" "" ins(%a : !lfrt.buffer<f32 x 64>) outs(%b : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.launch "copy" "" ins(%b : !lfrt.buffer<f32 x 64>) outs(%c : !lfrt.buffer<f32 x 64>) args [64]
}

// -----

// The same three while a collective on %a is still under way: its place is taken.
// CHECK-LABEL: lfrt.func "body" @overlap
// CHECK-SAME: workspace = 768 : i64
lfrt.mesh axes ["tp"] sizes [2] names {tp = ["tp"]}
lfrt.comm "tp" axes ["tp"]
lfrt.func "body" @overlap "" names ["input"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  %a = lfrt.slot "a" in "workspace" : !lfrt.buffer<f32 x 64>
  %b = lfrt.slot "b" in "workspace" : !lfrt.buffer<f32 x 64>
  %c = lfrt.slot "c" in "workspace" : !lfrt.buffer<f32 x 64>
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%a : !lfrt.buffer<f32 x 64>) args [64]
  %ready = lfrt.record "compute"
  lfrt.wait "tp" for %ready
  lfrt.all_reduce "a" "sum" %a into %a comm "tp" : !lfrt.buffer<f32 x 64> -> !lfrt.buffer<f32 x 64>
  %done = lfrt.record "tp"
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%b : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.launch "copy" "" ins(%b : !lfrt.buffer<f32 x 64>) outs(%c : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.wait "compute" for %done
}

// -----

// What is dead before the output is written lies inside it.
// CHECK-LABEL: lfrt.func "body" @output
// CHECK-SAME: workspace = 0 : i64
// CHECK: lfrt.slot "a" in "output" at 0
lfrt.mesh axes ["tp"] sizes [2] names {tp = ["tp"]}
lfrt.func "body" @output "" names ["input", "output"] {
^bb0(%x: !lfrt.buffer<f32 x 64>, %y: !lfrt.buffer<f32 x 64>):
  %a = lfrt.slot "a" in "workspace" : !lfrt.buffer<f32 x 64>
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%a : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.launch "copy" "" ins(%a : !lfrt.buffer<f32 x 64>) outs(%x : !lfrt.buffer<f32 x 64>) args [64]
  lfrt.launch "copy" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%y : !lfrt.buffer<f32 x 64>) args [64]
}
