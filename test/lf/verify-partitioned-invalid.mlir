// RUN: lf-opt %s --lf-verify-partitioned -verify-diagnostics -split-input-file

// Each decision of the levels before is named where it was left.
func.func @f.fwd(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  // expected-error @+2 {{expected no "id" after lf-partition, got one}}
  // expected-error @+1 {{expected no "seed" after lf-partition, got one}}
  %a = lf.activation %x {id = 0 : i64, kind = "silu", seed = #lf.layout<[{}, {}, {}]>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  // expected-error @+2 {{expected no "pin" after lf-partition, got one}}
  // expected-error @+1 {{expected no "roles" after lf-partition, got one}}
  %b = lf.activation %a {kind = "silu", pin = #lf.roles<>, roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  // expected-error @+3 {{expected no "homes" after lf-partition, got one}}
  // expected-error @+2 {{expected no "of" after lf-partition, got one}}
  // expected-error @+1 {{expected no "links" after lf-partition, got one}}
  %c = lf.activation %b {homes = [unit], kind = "silu", links = ["contribution"], of = 0 : i64} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %c : tensor<8x2x4xf32>
}

// -----

// A gradient says over which axes it is partial; a parameter, how its gradient accumulates.
// expected-error @+1 {{expected a gradient of parameter "f.w", got none}}
lf.declare "f" "w" : tensor<4xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 4>, rows = 1, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}]>}
func.func @f.bwd(%d: tensor<4xf32>) {
  // expected-error @+1 {{expected a layout on each lf.accumulate after lf-partition, got none}}
  lf.accumulate %d to "w" : tensor<4xf32>
  return
}

// -----

func.func @loss.fwd(%l: tensor<8x2x32xf32>, %y: tensor<8x2xi32>) -> tensor<8x2xf32> {
  // expected-error @+1 {{expected lf.cross_entropy to be expanded, got it}}
  %nll, %m, %z = lf.cross_entropy %l, %y {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  return %nll : tensor<8x2xf32>
}
