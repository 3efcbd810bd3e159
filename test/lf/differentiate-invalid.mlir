// RUN: lf-opt %s -allow-unregistered-dialect --lf-differentiate -verify-diagnostics -split-input-file

// An op of another dialect has no adjoint.
func.func @foreign(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected a model op in a layer body, got "func.call"}}
  %y = func.call @other.helper(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @other.helper(tensor<8xf32>) -> tensor<8xf32>

// -----

// Collectives come after differentiation.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @early(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected a model op in a layer body, got "lf.all_reduce"}}
  %y = lf.all_reduce "sum" %x over ["tp"] : tensor<8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// An integer argument says what it is, so that the backward can ask for the same.
// expected-error @+1 {{expected "lf.input" on integer argument 1, got none}}
func.func @nameless(%x: tensor<8x2x4x4xf32>, %pos: tensor<8xi32>) -> tensor<8x2x4x4xf32> {
  %y = lf.rope %x, %pos {inv_freq = array<f64: 1.0, 0.01>} : (tensor<8x2x4x4xf32>, tensor<8xi32>) -> tensor<8x2x4x4xf32>
  return %y : tensor<8x2x4x4xf32>
}

// -----

// A body is straight-line code.
// expected-error @+1 {{expected one block in a layer body, got 2}}
func.func @two_blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8xf32>) -> tensor<8xf32>
  "test.branch"()[^end] : () -> ()
^end:
  return %y : tensor<8xf32>
}

// -----

// An argument without influence would have no cotangent to send to the stage before.
// expected-error @+1 {{expected the outputs of @no_influence.fwd to depend on argument 1, got none that does}}
func.func @no_influence(%x: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// An argument that reaches only a dead value has no influence either.
// expected-error @+1 {{expected the outputs of @dead_end.fwd to depend on argument 1, got none that does}}
func.func @dead_end(%x: tensor<8xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8xf32>) -> tensor<8xf32>
  %dead = lf.sum %x, %z : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected tensors as arguments of a layer body, got 'f32'}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

// expected-error @+1 {{expected tensors as arguments of a layer body, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// An op without an adjoint would lose its share of the derivative.
func.func @no_adjoint(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %s = lf.sum_all %x : (tensor<8x2x4xf32>) -> tensor<f32>
  // expected-error @+1 {{expected an op with an adjoint where a derivative flows, got "lf.broadcast"}}
  %b = lf.broadcast %s : (tensor<f32>) -> tensor<8x2x4xf32>
  %y = lf.sum %x, %b : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// Adjoints know the cotangent of the first result only.
func.func @side_result(%q: tensor<8x2x4x2x4xf32>, %k: tensor<8x2x4x4xf32>, %v: tensor<8x2x4x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>) {
  // expected-error @+1 {{expected a derivative to flow into result 0 of "lf.attention" only, got one into result 1}}
  %o, %lse = lf.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>)
  return %o, %lse : tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>
}
