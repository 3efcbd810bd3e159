// propagate: expected argument 1 to be saved value 0 of type 'tensor<8x2x4xf32>', got 'tensor<8xf32>'
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
// partition: expected a layout of 3 dims in "homes", got #lf.layout<[{}]>
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected a layout of 3 dims in "homes", got #lf.layout<[{}, {}, {}, {tp}]>
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.sum %x, %x {homes = [#lf.layout<[{}, {}, {}, {tp}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// propagate: expected "lf.layout" of argument 0 to be a layout of 3 dims, got #lf.layout<[{tp}]>
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{tp}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{}, {}, {}]>], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected "lf.layout" of argument 0 to be a layout of 3 dims, got #lf.layout<[{tp}]>
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
// annotate: expected tensors of static shape as arguments, got 'tensor<*xf32>'
func.func @f.fwd(%x: tensor<*xf32>) -> tensor<*xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<*xf32>
}

// -----
// partition: expected "lf.layout" of argument 0 to be a layout of 3 dims, got "[{}]"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = "[{}]"}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}

// -----
// expand-cross-entropy: expected lf.cross_entropy in a function, got it outside
%l = lf.param "l" of "f" : tensor<8x2x32xf32>
%y = builtin.unrealized_conversion_cast to tensor<8x2xi32>
%nll, %m, %z = lf.cross_entropy %l, %y {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)

// -----
// annotate: expected "lf.outputs" to be a number from 0 to 1, got
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = "two"} {
  return %x : tensor<8x2x4xf32>
}

// -----
// propagate: expected "lf.outputs" to be a number from 0 to 1, got
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = "two"} {
  return %x : tensor<8x2x4xf32>
}

// -----
// annotate: expected a body of one block, got 0
func.func private @f.fwd(tensor<8x2x4xf32>) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64}

// -----
// propagate: expected a body of one block, got 0
lf.mesh axes ["tp"] sizes [2] names {}
func.func private @f.fwd(tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64}

// -----
// annotate: expected tensors of static shape in a layer body, got 'f32'
func.func @f.fwd(%x: tensor<8x2x4xf32>) -> f32 attributes {lf.outputs = 1 : i64} {
  %y = builtin.unrealized_conversion_cast %x : tensor<8x2x4xf32> to f32
  return %y : f32
}

// -----
// partition: expected tensors of static shape in a layer body, got 'f32'
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> f32 attributes {lf.outputs = 1 : i64} {
  %y = builtin.unrealized_conversion_cast %x : tensor<8x2x4xf32> to f32
  return %y : f32
}

// -----
// propagate: expected tensors of static shape as arguments, got 'f32'
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: f32) -> f32 attributes {lf.outputs = 1 : i64} {
  return %x : f32
}

// -----
// propagate: expected tensors of static shape as arguments, got 'f32'
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: f32 {lf.layout = #lf.layout<[]>}) -> f32 attributes {lf.outputs = 1 : i64} {
  return %x : f32
}

// -----
// partition: expected a body of one block, got 2
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  "test.branch"()[^end] : () -> ()
^end:
  return %x : tensor<8x2x4xf32>
}

// -----
// propagate: expected "lf.cotangents" to be a number from 0 to 1, got none
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> {
  return %dy : tensor<8x2x4xf32>
}

// -----
// partition: expected at least 3 arguments (1 cotangents and 2 saved values), got 1
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>) attributes {lf.outputs = 1 : i64} {
  return %x, %x, %x : tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>, lf.link = "cotangent:arg0"}) -> tensor<8x2x4xf32> attributes {lf.cotangents = 1 : i64} {
  return %dy : tensor<8x2x4xf32>
}

// -----
// propagate: expected a body of one block, got 0
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}
func.func private @f.bwd(%dy: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>, lf.link = "cotangent:arg0"}) -> tensor<8x2x4xf32> attributes {lf.cotangents = 1 : i64}

// -----
// partition: expected a model op in a layer body, got "lf.accumulate"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  lf.accumulate %x to "w" : tensor<8x2x4xf32>
  return %x : tensor<8x2x4xf32>
}

// -----
// partition: expected a declaration of parameter "f.w", got none
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4xf32>
  return %x : tensor<8x2x4xf32>
}

// -----
// partition: expected a model op in a layer body, got "lf.all_reduce"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.all_reduce "sum" %x over ["tp"] : tensor<8x2x4xf32> -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected a model op in a layer body, got "builtin.unrealized_conversion_cast"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = builtin.unrealized_conversion_cast %x : tensor<8x2x4xf32> to tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// parse: 'lf.mesh' op (C1) expected at most 2147483648 ranks, got more
lf.mesh axes ["dp", "tp"] sizes [4294967296, 4294967296] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{dp, tp}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// propagate: expected "lf.outputs" to be a number from 0 to 1, got
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 7 : i64} {
  return %x : tensor<8x2x4xf32>
}

// -----
// propagate: expected "lf.outputs" to be a number from 0 to 1, got
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = -1 : i64} {
  return %x : tensor<8x2x4xf32>
}

// -----
// propagate: expected a link to a value of the same shape, got one to "value 1"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {tp}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2xf32> {lf.link = "cotangent:0.0"}) -> tensor<8x2xf32> attributes {lf.cotangents = 1 : i64} {
  %dx = lf.activation %dy {kind = "silu", links = ["cotangent:arg0"], of = 0 : i64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return %dx : tensor<8x2xf32>
}

// -----
// propagate: (C1) expected parameter "f.w" of type 'tensor<4xf32>', got 'tensor<2x4xf32>'
lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "f" "w" : tensor<4xf32> {split = [""], closed = [], hf_name = "w", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 4, init = "ones", std = 0.0 : f64, layout = #lf.layout<[{tp}]>}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4xf32>
  %y = lf.bias_add %x, %w {id = 0 : i64} : (tensor<8x2x4xf32>, tensor<4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}) -> tensor<8x2x4xf32> attributes {lf.cotangents = 1 : i64} {
  %dw = lf.bias_grad %dy {links = ["gradient:f.w"], of = 0 : i64} : (tensor<8x2x4xf32>) -> tensor<2x4xf32>
  lf.accumulate %dw to "w" : tensor<2x4xf32>
  return %dy : tensor<8x2x4xf32>
}

// -----
// propagate: expected factor "b" of an adjoint to be 2 as in its primal op, got 6
lf.mesh axes ["tp"] sizes [4] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{tp}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
func.func @f.bwd(%dy: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}) -> tensor<6x6x6xf32> attributes {lf.cotangents = 1 : i64} {
  %z = lf.fill {value = 0.0 : f64} : () -> tensor<6x6x6xf32>
  %dx = lf.activation %z {kind = "silu", of = 0 : i64} : (tensor<6x6x6xf32>) -> tensor<6x6x6xf32>
  return %dx : tensor<6x6x6xf32>
}

// -----
// propagate: expected each op of a body to have a number of its own, got "id" 0 twice
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %a = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %y = lf.activation %a {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected a layout of 3 dims in "homes", got 3 : i64
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [3], roles = #lf.roles<>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// partition: expected dim 0 of "activation (f)" to be a multiple of 4 (axis "tp" of size 4), got 6; split it over fewer ranks
lf.mesh axes ["tp"] sizes [4] names {}
func.func @f.fwd(%x: tensor<6x2x4xf32> {lf.layout = #lf.layout<[{tp}, {}, {}]>}) -> tensor<6x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {kind = "silu", homes = [#lf.layout<[{tp}, {}, {}]>], roles = #lf.roles<s = {tp}>} : (tensor<6x2x4xf32>) -> tensor<6x2x4xf32>
  return %y : tensor<6x2x4xf32>
}

// -----
// annotate: expected each axis once in the layout of "f.w", got [{tp}, {tp}]
lf.declare "f" "w" : tensor<8x8xf32> {split = ["tp", "tp"], closed = [], hf_name = "w", valid = array<i64: 8, 8>, rows = 1, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}

// -----
// annotate: expected a closed list of "tp", "tp_kv" or "tp_rep", got "tpp"
lf.declare "f" "w" : tensor<8xf32> {split = [""], closed = ["tpp"], hf_name = "w", valid = array<i64: 8>, rows = 0, hf_col = 0, hf_cols = 8, init = "ones", std = 0.0 : f64}

// -----
// propagate: expected "lf.layout" of argument 0 to be a layout of 3 dims, got "[{}]"
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = "[{}]"}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<8x2x4xf32>
}

// -----
// propagate: expected tensors of static shape as arguments, got 'tensor<?x?x4xf32>'
lf.mesh axes ["tp"] sizes [2] names {}
func.func @f.fwd(%x: tensor<?x?x4xf32> {lf.layout = #lf.layout<[{tp}, {}, {}]>}) -> tensor<?x?x4xf32> attributes {lf.outputs = 1 : i64} {
  return %x : tensor<?x?x4xf32>
}

// -----
// parse: 'lf.mesh' op (C1) expected at most 2147483648 ranks, got more
lf.mesh axes ["dp", "tp"] sizes [9223372036854775807, 9223372036854775807] names {}
func.func @f.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{dp, tp}, {}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----
// parse: 'lf.cross_entropy' op (C1) expected at least 1 valid column, got -1
func.func @f(%l: tensor<8x2x32xf32>, %y: tensor<8x2xi32> {lf.input = "labels"}) -> tensor<8x2xf32> {
  %nll, %m, %z = lf.cross_entropy %l, %y {valid = -1 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  return %nll : tensor<8x2xf32>
}
