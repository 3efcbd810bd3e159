// propagate: expected 3 factors for "argument 0" in activation (f), got "s"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>) attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y, %x : tensor<8x2x4xf32>, tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>, lf.link = "cotangent:0.0"}, %s: tensor<8xf32>) -> tensor<8xf32> attributes {lf.cotangents = 1 : i64} {
  %dx = lf.activation %s {kind = "silu", links = ["cotangent:arg0"], of = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %dx : tensor<8xf32>
}

// -----
// partition: expected a conversion from [{}, {}, {}] to [{}], got none: 3 dims against 1
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected a conversion from [{}, {}, {}] to [{}, {}, {}, {tp}], got none: 3 dims against 4
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.sum %x, %x {homes = [#lf.layout<[{}, {}, {}, {tp}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// propagate: expected the layout of "argument 0" to have 3 dims, got [{tp}]
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{tp}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected a conversion from [{tp}] to [{}, {}, {}], got none: 1 dim against 3
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{tp}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected an axis of the mesh ("tp"), got "ep"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{ep}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: got none: an axis occurs twice (rule L1)
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<s = {tp}, h = {tp}>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// propagate: expected the seed of "w" to be finished and not flat, got [{}] flat<tp>
lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "f" "w" : tensor<4xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 4, init = "ones", std = 0.0 : f64, layout = #lf.layout<[{}], flat {tp}>}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4xf32>
  %y = lf.bias_add %x, %w {id = 0 : i64, homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>, tensor<4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected no flat storage in a layer body, got a conversion to or from [{}]
lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "f" "w" : tensor<4xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 4, init = "ones", std = 0.0 : f64, layout = #lf.layout<[{}], flat {tp}>}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4xf32>
  %y = lf.bias_add %x, %w {id = 0 : i64, homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>, tensor<4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// annotate, propagate: to have 5 dims, got [{}, {dp}, {}, {}]
func.func @f.fwd(%q: tensor<8x2x4x2x4xf32>, %k: tensor<8x2x4x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4x2xf32> attributes {lf.outputs = 1 : i64} {
  %o, %lse = lf.attention %q, %k, %k, %pos, %pos {id = 0 : i64, scale = 0.5 : f64} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>)
  return %lse : tensor<8x2x4x2xf32>
}

// -----
// annotate: expected argument 0 to be [S, B, ...], got 'tensor<*xf32>'
func.func @f.fwd(%x: tensor<*xf32>) -> tensor<*xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<*xf32>
}

// -----
// partition: expected "lf.layout" on argument 0, got none: run lf-propagate first
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = "[{}]"}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}
