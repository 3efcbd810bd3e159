// RUN: lf-opt %s --lf-split-backward -verify-diagnostics -split-input-file

// Nothing to split.
// expected-error @+1 {{expected functions "@*.bwd", got none: run lf-differentiate first}}
module {
  func.func @block(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// Before lf-partition what crosses has no local shape.
lf.declare "block" "g" : tensor<8xf32> {split = [""], closed = [], hf_name = "g", valid = array<i64: 8>, rows = 0, hf_col = 0, hf_cols = 0, init = "ones", std = 0.0 : f64}
func.func @block.bwd(%dy: tensor<8xf32>) -> tensor<8xf32> attributes {lf.cotangents = 1} {
  // expected-error @+1 {{expected a layout on each lf.accumulate, got none: run lf-partition first}}
  lf.accumulate %dy to "g" : tensor<8xf32>
  return %dy : tensor<8xf32>
}

// -----

// Split once only.
// expected-error @+1 {{expected a whole backward, got one whose weight gradients are split off already}}
func.func @block.bwd(%dy: tensor<8xf32>) -> tensor<8xf32> attributes {lf.cotangents = 1, lf.crossing = 0} {
  return %dy : tensor<8xf32>
}
