// RUN: lf-opt %s --lf-mixed-precision --split-input-file --verify-diagnostics

// expected-error@+1 {{expected "lf.outputs" of at most 1 results, got 2}}
func.func @a.fwd(%x: tensor<8x2x16xbf16>) -> tensor<8x2x16xbf16> attributes {lf.outputs = 2 : i64} {
  return %x : tensor<8x2x16xbf16>
}

// -----

func.func @b.fwd(%x: tensor<8x2x16xbf16>) -> (tensor<8x2x16xbf16>, tensor<8x2x16xbf16>, tensor<8x2x16xbf16>) attributes {lf.outputs = 1 : i64} {
  return %x, %x, %x : tensor<8x2x16xbf16>, tensor<8x2x16xbf16>, tensor<8x2x16xbf16>
}
// expected-error@+1 {{expected an argument for each of 2 values that @b.fwd keeps, got 1 in all}}
func.func @b.bwd(%dy: tensor<8x2x16xbf16>) -> tensor<8x2x16xbf16> {
  return %dy : tensor<8x2x16xbf16>
}

// -----

func.func @c(%x: tensor<8x2x16xbf16>, %w: tensor<16x16xf32>) -> tensor<8x2x16xbf16> {
  // expected-error@+1 {{(F1) expected one real element type, got 'bf16' and 'f32' in operand 1}}
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x16xbf16>, tensor<16x16xf32>) -> tensor<8x2x16xbf16>
  return %y : tensor<8x2x16xbf16>
}

// -----

func.func @d(%x: tensor<8x2x16xf32>, %w: tensor<16x16xf32>) -> tensor<8x2x16xbf16> {
  // expected-error@+1 {{(F1) expected one real element type, got 'f32' and 'bf16' in result 0}}
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x16xf32>, tensor<16x16xf32>) -> tensor<8x2x16xbf16>
  return %y : tensor<8x2x16xbf16>
}

// -----

func.func @e(%x: tensor<8x2x32xf32>) -> tensor<8x2xf64> {
  // expected-error@+1 {{(F1) expected 'f32' for statistics and gradients of parameters, got 'f64'}}
  %y = lf.row_max %x {valid = 29 : i64} : (tensor<8x2x32xf32>) -> tensor<8x2xf64>
  return %y : tensor<8x2xf64>
}
