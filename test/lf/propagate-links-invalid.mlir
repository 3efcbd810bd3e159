// RUN: lf-opt %s --lf-propagate -verify-diagnostics -split-input-file

// What ties a backward to its forward: `of`, `links`, `lf.link`, `lf.input`, and the arguments that they stand on.

// An adjoint names an op of its forward.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  // expected-error @+1 {{expected "of" to number an op of @f.fwd, got 7}}
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["cotangent:arg0"], of = 7 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// A cotangent is of an argument that there is.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  // expected-error @+1 {{expected a link such as "cotangent:3.0", got "cotangent:arg3"}}
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["cotangent:arg3"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// ... or of a result that there is.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  // expected-error @+1 {{expected a link such as "cotangent:3.0", got "cotangent:0.4"}}
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["cotangent:0.4"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// A link is one of four kinds.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  // expected-error @+1 {{expected a link such as "cotangent:3.0", got "seed:0.0"}}
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["seed:0.0"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// A gradient is of a parameter that the body reads.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  // expected-error @+1 {{expected a link to a parameter of this body, got "gradient:f.w"}}
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["gradient:f.w"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// A cotangent argument says of which value.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
// expected-error @+1 {{expected "lf.link" on cotangent argument 0}}
func.func @f.bwd(%dy: tensor<8x2x8xf32>, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["cotangent:arg0"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}

// -----

// An integer argument is an input of the forward.
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x8xf32>, tensor<8x2x8xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %y, %x : tensor<8x2x8xf32>, tensor<8x2x8xf32>
}
// expected-error @+1 {{expected argument 1 to be an integer input of @f.fwd}}
func.func @f.bwd(%dy: tensor<8x2x8xf32> {lf.link = "cotangent:0.0"}, %p: tensor<8xi32> {lf.input = "positions"}, %s: tensor<8x2x8xf32>) -> tensor<8x2x8xf32> attributes {lf.cotangents = 1 : i64} {
  %dx = lf.activation_grad %s, %dy {kind = "silu", links = ["cotangent:arg0"], of = 0 : i64} : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
  return %dx : tensor<8x2x8xf32>
}
