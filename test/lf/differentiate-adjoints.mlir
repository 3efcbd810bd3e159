// RUN: lf-opt %s --lf-differentiate --split-input-file | FileCheck %s

// The adjoint of each forward op that differentiate.mlir does not show: operands, attributes, links.

// CHECK-LABEL: func.func @bias.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x4x2x4xf32> {lf.link = "cotangent:0.0"})
// CHECK-NEXT:    [[DB:%.+]] = lf.bias_grad [[DY]] {links = ["gradient:bias.b"], of = 0 : i64}
// CHECK-NEXT:    lf.accumulate [[DB]] to "b" : tensor<4x2x4xf32>
// CHECK-NEXT:    return [[DY]]
func.func @bias(%x: tensor<8x2x4x2x4xf32>) -> tensor<8x2x4x2x4xf32> {
  %b = lf.param "b" : tensor<4x2x4xf32>
  %y = lf.bias_add %x, %b : (tensor<8x2x4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<8x2x4x2x4xf32>
  return %y : tensor<8x2x4x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x16xf32> {{.*}}, [[X:%[^:]+]]: tensor<8x2x16xf32>)
// CHECK:         [[DX:%.+]], [[DG:%.+]] = lf.rms_norm_grad [[X]], [[G:%.+]], [[DY]] {eps = 1.000000e-05 : f64, links = ["cotangent:arg0", "gradient:rms_norm.g"], of = 0 : i64}
// CHECK-NEXT:    lf.accumulate [[DG]] to "g"
// CHECK-NEXT:    return [[DX]]
func.func @rms_norm(%x: tensor<8x2x16xf32>) -> tensor<8x2x16xf32> {
  %g = lf.param "g" : tensor<16xf32>
  %y = lf.rms_norm %x, %g {eps = 1.0e-5 : f64} : (tensor<8x2x16xf32>, tensor<16xf32>) -> tensor<8x2x16xf32>
  return %y : tensor<8x2x16xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x16xf32> {{.*}}, [[X:%[^:]+]]: tensor<8x2x16xf32>)
// CHECK:         [[G:%.+]] = lf.param "g"
// CHECK:         [[DX:%.+]], [[DG:%.+]], [[DB:%.+]] = lf.layer_norm_grad [[X]], [[G]], [[DY]] {eps = 1.000000e-05 : f64, links = ["cotangent:arg0", "gradient:layer_norm.g", "gradient:layer_norm.b"], of = 0 : i64}
// CHECK-DAG:     lf.accumulate [[DG]] to "g"
// CHECK-DAG:     lf.accumulate [[DB]] to "b"
// CHECK:         return [[DX]]
func.func @layer_norm(%x: tensor<8x2x16xf32>) -> tensor<8x2x16xf32> {
  %g = lf.param "g" : tensor<16xf32>
  %b = lf.param "b" : tensor<16xf32>
  %y = lf.layer_norm %x, %g, %b {eps = 1.0e-5 : f64} : (tensor<8x2x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x2x16xf32>
  return %y : tensor<8x2x16xf32>
}

// -----

// A rotation backwards; positions are an integer input of the backward, nothing is saved.
// CHECK-LABEL: func.func @rope.fwd(
// CHECK-SAME:    -> tensor<8x2x4x4xf32> attributes
// CHECK-LABEL: func.func @rope.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x4x4xf32> {lf.link = "cotangent:0.0"}, [[POS:%[^:]+]]: tensor<8xi32> {lf.input = "positions"})
// CHECK-NEXT:    [[DX:%.+]] = lf.rope [[DY]], [[POS]] {inv_freq = array<f64: 1.000000e+00, 1.000000e-02>, inverse, links = ["cotangent:arg0"], of = 0 : i64, scale = 2.000000e+00 : f64}
// CHECK-NEXT:    return [[DX]]
func.func @rope(%x: tensor<8x2x4x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4x4xf32> {
  %y = lf.rope %x, %pos {inv_freq = array<f64: 1.0, 0.01>, scale = 2.0 : f64} : (tensor<8x2x4x4xf32>, tensor<8xi32>) -> tensor<8x2x4x4xf32>
  return %y : tensor<8x2x4x4xf32>
}

// -----

// The adjoint of an inverse rotation turns forwards.
// CHECK-LABEL: func.func @inverse_rope.bwd(
// CHECK-NOT:     inverse,
// CHECK:         lf.rope %{{.*}}, %{{.*}} {inv_freq = array<f64: 1.000000e+00, 1.000000e-02>, links = ["cotangent:arg0"], of = 0 : i64}
func.func @inverse_rope(%x: tensor<8x2x4x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4x4xf32> {
  %y = lf.rope %x, %pos {inv_freq = array<f64: 1.0, 0.01>, inverse} : (tensor<8x2x4x4xf32>, tensor<8xi32>) -> tensor<8x2x4x4xf32>
  return %y : tensor<8x2x4x4xf32>
}

// -----

// Attention saves q, k, v, its result and lse, in the order in which the adjoint asks.
// CHECK-LABEL: func.func @attention.fwd(
// CHECK-SAME:    [[Q:%[^:]+]]: tensor<8x2x4x2x4xf32>, [[K:%[^:]+]]: tensor<8x2x4x4xf32>, [[V:%[^:]+]]: tensor<8x2x4x4xf32>,
// CHECK:         [[O:%.+]], [[LSE:%.+]] = lf.attention
// CHECK:         return [[O]], [[Q]], [[K]], [[V]], [[O]], [[LSE]] :
// CHECK-LABEL: func.func @attention.bwd(
// CHECK-SAME:    [[DO:%[^:]+]]: tensor<8x2x4x2x4xf32> {lf.link = "cotangent:0.0"}, [[POS:%[^:]+]]: tensor<8xi32> {lf.input = "positions"}, [[Q:%[^:]+]]: tensor<8x2x4x2x4xf32>, [[K:%[^:]+]]: tensor<8x2x4x4xf32>, [[V:%[^:]+]]: tensor<8x2x4x4xf32>, [[O:%[^:]+]]: tensor<8x2x4x2x4xf32>, [[LSE:%[^:]+]]: tensor<8x2x4x2xf32>)
// CHECK-NEXT:    [[DQ:%.+]], [[DK:%.+]], [[DV:%.+]] = lf.attention_grad [[Q]], [[K]], [[V]], [[POS]], [[POS]], [[O]], [[LSE]], [[DO]] {links = ["cotangent:arg0", "cotangent:arg1", "cotangent:arg2"], of = 0 : i64, scale = 5.000000e-01 : f64, window = 4 : i64}
// CHECK-NEXT:    return [[DQ]], [[DK]], [[DV]]
func.func @attention(%q: tensor<8x2x4x2x4xf32>, %k: tensor<8x2x4x4xf32>, %v: tensor<8x2x4x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4x2x4xf32> {
  %o, %lse = lf.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, window = 4 : i64} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>)
  return %o : tensor<8x2x4x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @glu.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x4xf32> {{.*}}, [[GATE:%[^:]+]]: tensor<8x2x4xf32>, [[UP:%[^:]+]]: tensor<8x2x4xf32>)
// CHECK-NEXT:    [[DGATE:%.+]], [[DUP:%.+]] = lf.glu_grad [[GATE]], [[UP]], [[DY]] {kind = "silu", links = ["cotangent:arg0", "cotangent:arg1"], of = 0 : i64}
// CHECK-NEXT:    return [[DGATE]], [[DUP]]
func.func @glu(%gate: tensor<8x2x4xf32>, %up: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %y = lf.glu %gate, %up {kind = "silu"} : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// Dropout is its own adjoint: same probability, same site, so the same mask.
// CHECK-LABEL: func.func @dropout.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}, [[POS:%[^:]+]]: tensor<8xi32> {lf.input = "positions"}) ->
// CHECK-NEXT:    [[DX:%.+]] = lf.dropout [[DY]], [[POS]] {links = ["cotangent:arg0"], of = 0 : i64, p = 1.000000e-01 : f64, site = 2 : i64}
// CHECK-NEXT:    return [[DX]]
func.func @dropout(%x: tensor<8x2x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4xf32> {
  %y = lf.dropout %x, %pos {p = 0.1 : f64, site = 2 : i64} : (tensor<8x2x4xf32>, tensor<8xi32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @position_embedding.bwd(
// CHECK-SAME:    [[DY:%[^:]+]]: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}, [[POS:%[^:]+]]: tensor<8xi32> {lf.input = "positions"}) ->
// CHECK-NEXT:    [[DT:%.+]] = lf.position_embedding_grad [[POS]], [[DY]] {links = ["gradient:position_embedding.t"], of = 0 : i64}
// CHECK-NEXT:    lf.accumulate [[DT]] to "t" : tensor<16x4xf32>
// CHECK-NEXT:    return [[DY]]
func.func @position_embedding(%x: tensor<8x2x4xf32>, %pos: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x4xf32> {
  %t = lf.param "t" : tensor<16x4xf32>
  %y = lf.position_embedding %x, %pos, %t : (tensor<8x2x4xf32>, tensor<8xi32>, tensor<16x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
