// RUN: lf-opt %s -verify-diagnostics -split-input-file

lfrt.func "body" @launch "" names ["x"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C1) expected a kernel of runtime.h, got "rms"}}
  lfrt.launch "rms" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%x : !lfrt.buffer<f32 x 64>) args [64]
}

// -----

lfrt.func "body" @operands "" names ["x"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C2) expected 2 inputs and 1 outputs of "matmul", got 1 and 1}}
  lfrt.launch "matmul" "" ins(%x : !lfrt.buffer<f32 x 64>) outs(%x : !lfrt.buffer<f32 x 64>) args [64]
}

// -----

lfrt.func "body" @constants "" names ["x"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C2) expected argument 0 of "fill" to be of kind 'f', got 64 : i64}}
  lfrt.launch "fill" "" outs(%x : !lfrt.buffer<f32 x 64>) args [64, 64]
}

// -----

lfrt.func "body" @alignment "" names [] {
  // expected-error @+1 {{(C1) expected an offset that is a multiple of 64, got 4}}
  %0 = lfrt.slot "a" in "workspace" at 4 : !lfrt.buffer<f32 x 64>
}

// -----

lfrt.func "body" @arena "" names [] {
  // expected-error @+1 {{(C1) expected arena "bundle", "workspace" or "output", got "stack"}}
  %0 = lfrt.slot "a" in "stack" at 0 : !lfrt.buffer<f32 x 64>
}

// -----

lfrt.mesh axes ["tp"] sizes [4] names {}
// expected-error @+1 {{(C1) expected axes of the mesh, got "dp"}}
lfrt.comm "dp" axes ["dp"]

// -----

lfrt.mesh axes ["tp"] sizes [4] names {}
lfrt.comm "tp" axes ["tp"]
lfrt.func "body" @counts "" names ["x"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C2) expected counts that fit a group of 4, got 64 and 64}}
  lfrt.all_gather "" %x into %x comm "tp" : !lfrt.buffer<f32 x 64> -> !lfrt.buffer<f32 x 64>
}

// -----

lfrt.func "body" @undeclared "" names ["x"] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
  // expected-error @+1 {{(C1) expected a declared communicator, got "tp"}}
  lfrt.all_reduce "" "sum" %x into %x comm "tp" : !lfrt.buffer<f32 x 64> -> !lfrt.buffer<f32 x 64>
}

// -----

// A communicator behind its use has not been verified when the use is.
%x = lfrt.slot "a" in "workspace" : !lfrt.buffer<f32 x 64>
// expected-error @+1 {{(C1) expected communicator "tp" to have a mesh, got none}}
lfrt.all_gather "" %x into %x comm "tp" : !lfrt.buffer<f32 x 64> -> !lfrt.buffer<f32 x 64>
lfrt.comm "tp" axes ["tp"]

// -----

// expected-error @+1 {{(C1) expected one name for each argument, got 0 names and 1 arguments}}
lfrt.func "body" @names "" names [] {
^bb0(%x: !lfrt.buffer<f32 x 64>):
}

// -----

lfrt.func "action" @missing "" names [] {
  // expected-error @+1 {{(C1) expected a body, got @nobody}}
  lfrt.call @nobody layers 0 count 1 bundle 0 stride 0 work 0 places []
}

// -----

lfrt.mesh axes ["tp"] sizes [4] names {}
lfrt.func "body" @view "" names ["x"] {
^bb0(%x: !lfrt.buffer<i32 x 64>):
  // expected-error @+1 {{(C1) expected 1/4 of 64 elements, got 32}}
  %0 = lfrt.view %x at <["tp"] * 32> : !lfrt.buffer<i32 x 64> -> !lfrt.buffer<i32 x 32>
}

// -----

lfrt.func "body" @element "" names [] {
  // expected-error @+1 {{expected elements f32, f64, bf16 or i32, got 'i8'}}
  %0 = lfrt.slot "a" in "workspace" at 0 : !lfrt.buffer<i8 x 64>
}
