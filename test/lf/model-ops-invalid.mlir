// RUN: lf-opt %s -verify-diagnostics -split-input-file

// F1: a factor has one size.
func.func @factor(%x: tensor<8x2x16xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{(F1) expected operand 1 dim 0 to be 16 (factor "h" of operand 0), got 8}}
  %0 = lf.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<8x2x16xf32>, tensor<8xf32>) -> tensor<8x2x16xf32>
  return
}

// -----

func.func @rank(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{(C1) expected lhs of rank 3 ("sbh" of the spec), got rank 2}}
  %0 = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----

func.func @spec(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{(C1) expected a spec such as "sbh,hf->sbf", got "sh"}}
  %0 = lf.matmul "sh" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @spec_twice(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{(C1) expected a spec such as}}
  %0 = lf.matmul "ss,sf->sf" %x, %w : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @from_nowhere(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) {
  // expected-error @+1 {{(C1) expected each factor of the result in an operand, got "z"}}
  %0 = lf.matmul "sh,hf->sz" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @one_term(%x: tensor<8xf32>) {
  // expected-error @+1 {{(C1) expected at least 2 terms, got 1}}
  %0 = lf.sum %x : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @element_types(%x: tensor<8xf32>, %y: tensor<8xf64>) {
  // expected-error @+1 {{(F1) expected one real element type, got 'f32' and 'f64'}}
  %0 = lf.sum %x, %y : (tensor<8xf32>, tensor<8xf64>) -> tensor<8xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{(F1) expected operand 0 of static shape}}
  %0 = lf.sum %x, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @frequencies(%x: tensor<8x2x4x8xf32>, %p: tensor<8xi32>) {
  // expected-error @+1 {{(C1) expected inv_freq of d/2 entries for x [S, B, ..., d], got 1 entries}}
  %0 = lf.rope %x, %p {inv_freq = array<f64: 1.0>} : (tensor<8x2x4x8xf32>, tensor<8xi32>) -> tensor<8x2x4x8xf32>
  return
}

// -----

func.func @probability(%x: tensor<8x2x4xf32>, %p: tensor<8xi32>) {
  // expected-error @+1 {{(C1) expected 0 < p < 1, got 1}}
  %0 = lf.dropout %x, %p {p = 1.0 : f64, site = 0 : i64} : (tensor<8x2x4xf32>, tensor<8xi32>) -> tensor<8x2x4xf32>
  return
}

// -----

func.func @kind(%x: tensor<8xf32>) {
  // expected-error @+1 {{one of "silu", "gelu", "gelu_tanh", "relu"}}
  %0 = lf.activation %x {kind = "tanh"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @bias(%x: tensor<8x2xf32>, %b: tensor<8x2x4xf32>) {
  // expected-error @+1 {{(C1) expected a bias of at most rank 2, got rank 3}}
  %0 = lf.bias_add %x, %b : (tensor<8x2xf32>, tensor<8x2x4xf32>) -> tensor<8x2xf32>
  return
}

// -----

// An attention of the wrong rank is named, not crashed on.
func.func @attention(%q: tensor<8x2x4x4xf32>, %p: tensor<8xi32>) {
  // expected-error @+1 {{(F1) expected operand 0 of rank 5 (factors "sbgrd"), got rank 4}}
  %o, %l = lf.attention %q, %q, %q, %p, %p {scale = 0.5 : f64} : (tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x4xf32>, tensor<8x2x4xf32>)
  return
}
