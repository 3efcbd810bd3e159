// RUN: split-file %s %t
// RUN: lf-opt %t/modules.mlir --lf-annotate="dp=2 tp=2" -verify-diagnostics -split-input-file
// RUN: not lf-opt %t/empty.mlir --lf-annotate="dp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not lf-opt %t/empty.mlir --lf-annotate="tp=-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not lf-opt %t/empty.mlir --lf-annotate="tp=4 tp-rep=3" 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not lf-opt %t/empty.mlir --lf-annotate="tp=4 tp-rep=0" 2>&1 | FileCheck %s --check-prefix=NO-PART

// Sizes are positive, and tp-rep is a part of tp: the message gives all of them.
// ZERO: error: expected positive sizes and tp a multiple of tp-rep, got pp 1, dp 0, tp 1, tp-rep 1
// NEGATIVE: error: expected positive sizes and tp a multiple of tp-rep, got pp 1, dp 1, tp -2, tp-rep 1
// PART: error: expected positive sizes and tp a multiple of tp-rep, got pp 1, dp 1, tp 4, tp-rep 3
// NO-PART: error: expected positive sizes and tp a multiple of tp-rep, got pp 1, dp 1, tp 4, tp-rep 0

//--- empty.mlir
module {}

//--- modules.mlir
// A module is annotated once.
// expected-error @+1 {{expected a module without a mesh, got one already annotated}}
lf.mesh axes ["tp"] sizes [2] names {}

// -----

// A split names a list that exists.
// expected-error @+1 {{expected a split of "", "tp", "tp_kv" or "tp_rep", got "ep"}}
lf.declare "decoder" "w" : tensor<8x4xf32> {split = ["ep", ""], closed = [], hf_name = "w", valid = array<i64: 8, 4>, rows = 1, hf_col = 0, hf_cols = 4, init = "normal", std = 0.02 : f64}

// -----

// Each wrong declaration is named, not only the first.
// expected-error @+1 {{got "a"}}
lf.declare "decoder" "u" : tensor<8xf32> {split = ["a"], closed = [], hf_name = "u", valid = array<i64: 8>, rows = 1, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64}
// expected-error @+1 {{got "b"}}
lf.declare "decoder" "v" : tensor<8xf32> {split = ["b"], closed = [], hf_name = "v", valid = array<i64: 8>, rows = 1, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64}

// -----

// The stream has a sequence and a batch.
// expected-error @+1 {{expected argument 0 to be [S, B, ...], got 'tensor<8xf32>'}}
func.func @vector.fwd(%x: tensor<8xf32>) -> tensor<8xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected tensors of static shape as arguments, got 'f32'}}
func.func @scalar.fwd(%x: f32) -> f32 attributes {lf.outputs = 1 : i64} {
  return %x : f32
}

// -----

// expected-error @+1 {{expected "lf.outputs" to be a number from 0 to 1, got 2 : i64}}
func.func @outputs.fwd(%x: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {lf.outputs = 2 : i64} {
  return %x : tensor<8x2xf32>
}

// -----

// expected-error @+1 {{expected "lf.outputs" to be a number from 0 to 1, got -1 : i64}}
func.func @negative.fwd(%x: tensor<8x2xf32>) -> tensor<8x2xf32> attributes {lf.outputs = -1 : i64} {
  return %x : tensor<8x2xf32>
}
