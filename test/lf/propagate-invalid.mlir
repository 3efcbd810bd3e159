// RUN: lf-opt %s --lf-propagate -verify-diagnostics -split-input-file

// Layouts are of a mesh.
// expected-error @+1 {{expected an lf.mesh, got none: run lf-annotate first}}
module {}

// -----

// Two seeded operands that disagree: both are named, with their factors, and noted where they are.
lf.mesh axes ["tp"] sizes [2] names {}
// expected-note @unknown {{"s.0" is here}}
// expected-note @unknown {{"u.0" is here}}
func.func @mul.fwd(%s: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{tp}, {}, {}]>} loc("s.0"), %u: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {tp}]>} loc("u.0")) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected one role for axis "tp" in glu (mul), got factor "s" from "s.0" and factor "h" from "u.0"; annotate one of them}}
  %y = lf.glu %s, %u {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

// Two parameters that disagree are an error even if one side were cheaper.
lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "norm" "a" : tensor<8x4xf32> {split = ["", ""], closed = [], hf_name = "a", valid = array<i64: 8, 4>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{tp}, {}]>}
lf.declare "norm" "b" : tensor<4x8xf32> {split = ["", ""], closed = [], hf_name = "b", valid = array<i64: 4, 8>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {tp}]>}
func.func @norm.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-note @+1 {{"a" is here}}
  %a = lf.param "a" : tensor<8x4xf32>
  // expected-note @+1 {{"b" is here}}
  %b = lf.param "b" : tensor<4x8xf32>
  // expected-error @+1 {{expected one role for axis "tp" in matmul (norm), got factor "h" from "a" and factor "f" from "b"; annotate one of them}}
  %y = lf.matmul "he,ef->hf" %a, %b {id = 0 : i64} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// (L2) a dim of a seed is a multiple of its axes, with the arithmetic.
lf.mesh axes ["cp", "tp"] sizes [2, 4] names {}
// expected-error @+1 {{expected dim 0 of "x" to be a multiple of 8 (axes "cp" x "tp" of sizes 2 x 4), got 12; split it over fewer ranks}}
func.func @uneven.fwd(%x: tensor<12x2x8xf32> {lf.layout = #lf.layout<[{cp, tp}, {}, {}]>} loc("x")) -> tensor<12x2x8xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<12x2x8xf32>) -> tensor<12x2x8xf32>
  return %y : tensor<12x2x8xf32>
}

// -----

// (L2) the same for a factor that a pin splits.
lf.mesh axes ["tp"] sizes [4] names {}
func.func @factor.fwd(%x: tensor<8x2x6xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x6xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected factor "h" of activation (factor) to be a multiple of 4 (axis "tp" of size 4), got 6; split it over fewer ranks}}
  %y = lf.activation %x {id = 0 : i64, kind = "silu", pin = #lf.roles<h = {tp}>} : (tensor<8x2x6xf32>) -> tensor<8x2x6xf32>
  return %y : tensor<8x2x6xf32>
}

// -----

// A seed has a list for each dim, of axes of the mesh, and is finished.
lf.mesh axes ["tp"] sizes [2] names {}
// expected-error @+1 {{expected "lf.layout" of argument 0 to be a layout of 3 dims, got #lf.layout<[{tp}, {}]>}}
func.func @rank.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{tp}, {}]>} loc("x")) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
// expected-error @+1 {{expected an axis of the mesh ("tp"), got "ep" in the layout of "x"}}
func.func @axis.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{ep}, {}, {}]>} loc("x")) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
// expected-note @unknown {{"x" is here}}
// expected-error @+1 {{expected the seed of "x" to be finished and not flat, got [{}, {}, {}] sum<tp>}}
func.func @partial.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}], partial sum {tp}>} loc("x")) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

// A pin names factors of the op's rule, not blocked ones, and axes of the mesh, each once.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @letter.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected the pin of activation (letter) to name factors of its rule, got factor "z"}}
  %y = lf.activation %x {id = 0 : i64, kind = "silu", pin = #lf.roles<z = {tp}>} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "whole" "n" : tensor<8xf32> {split = [""], closed = [], hf_name = "n", valid = array<i64: 8>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}]>}
func.func @whole.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  %n = lf.param "n" : tensor<8xf32>
  // expected-error @+1 {{expected factor "h" of rms_norm (whole) to be whole, since its kernel needs all of it, got axes tp}}
  %y = lf.rms_norm %x, %n {id = 0 : i64, eps = 1.0e-5 : f64, pin = #lf.roles<h = {tp}>} : (tensor<8x2x8xf32>, tensor<8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
func.func @twice.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected one role for axis "tp" in activation (twice), got factor "h" and factor "s" from its pin}}
  %y = lf.activation %x {id = 0 : i64, kind = "silu", pin = #lf.roles<h = {tp}, s = {tp}>} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

// A parameter has a declaration, of its type.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @undeclared.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected a declaration of parameter "undeclared.n", got none}}
  %n = lf.param "n" : tensor<8xf32>
  return %x : tensor<8x2x8xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "type" "n" : tensor<4xf32> {split = [""], closed = [], hf_name = "n", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}]>}
func.func @type.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x8xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{(C1) expected parameter "type.n" of type 'tensor<4xf32>', got 'tensor<8xf32>'}}
  %n = lf.param "n" : tensor<8xf32>
  return %x : tensor<8x2x8xf32>
}
