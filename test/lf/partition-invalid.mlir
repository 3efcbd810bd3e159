// RUN: lf-opt %s --lf-partition -verify-diagnostics -split-input-file

// expected-error @+1 {{expected an lf.mesh, got none: run lf-annotate and lf-propagate first}}
module {}

// -----

// A parameter has a place to be stored in.
lf.mesh axes ["tp"] sizes [2] names {}
// expected-error @+1 {{expected a layout, got none: run lf-annotate first}}
lf.declare "f" "w" : tensor<8xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 8>, rows = 1, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64}

// -----

// Arguments are decided, of the forward and of the backward.
lf.mesh axes ["tp"] sizes [2] names {}
// expected-error @+1 {{expected "lf.layout" on argument 0, got none: run lf-propagate first}}
func.func @f.fwd(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}
// expected-error @+1 {{expected "lf.layout" on argument 0, got none: run lf-propagate first}}
func.func @f.bwd(%dy: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> attributes {lf.cotangents = 1 : i64} {
  return %dy : tensor<8x2x4xf32>
}

// -----

// So is each op: homes and roles.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected homes and roles, got none: run lf-propagate first}}
  %y = lf.activation %x {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  // expected-error @+1 {{expected homes and roles, got none: run lf-propagate first}}
  %y = lf.activation %x {kind = "silu", homes = [], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// All gradients of one parameter are partial over the same axes, or they could not be added.
lf.mesh axes ["dp"] sizes [2] names {}
lf.declare "f" "w" : tensor<4xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 4>, rows = 1, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}]>}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {dp}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {dp}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.cotangents = 1 : i64} {
  %a = lf.bias_grad %dy {homes = [#lf.layout<[{}], partial sum {dp}>], roles = #lf.roles<b = {dp}>} : (tensor<8x2x4xf32>) -> tensor<4xf32>
  lf.accumulate %a to "w" : tensor<4xf32>
  %b = lf.bias_grad %dy {homes = [#lf.layout<[{}]>], roles = #lf.roles<b = {dp}>} : (tensor<8x2x4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{expected all gradients of parameter "w" in layout #lf.layout<[{}], partial sum {dp}>, got #lf.layout<[{}]>}}
  lf.accumulate %b to "w" : tensor<4xf32>
  return %dy : tensor<8x2x4xf32>
}
