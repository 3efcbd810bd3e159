// RUN: lf-opt %s --lf-differentiate --split-input-file | FileCheck %s

// A product: both adjoints are products, the gradient is accumulated where it exists, both operands are saved.
// CHECK-LABEL: func.func @product.fwd(
// CHECK-SAME:    [[X:%.+]]: tensor<8x2x16xf32>) -> (tensor<8x2x4xf32>, tensor<8x2x16xf32>) attributes {lf.outputs = 1 : i64}
// CHECK:         [[Y:%.+]] = lf.matmul "sbh,hf->sbf" [[X]], %{{.*}} {id = 0 : i64}
// CHECK:         return [[Y]], [[X]]
// CHECK-LABEL: func.func @product.bwd(
// CHECK-SAME:    [[DY:%.+]]: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}, [[X:%.+]]: tensor<8x2x16xf32>) -> tensor<8x2x16xf32> attributes {lf.cotangents = 1 : i64}
// CHECK-NEXT:    [[W:%.+]] = lf.param "w" : tensor<16x4xf32>
// CHECK-NEXT:    [[DX:%.+]] = lf.matmul "sbf,hf->sbh" [[DY]], [[W]] {links = ["cotangent:arg0"], of = 0 : i64}
// CHECK-NEXT:    [[DW:%.+]] = lf.matmul "sbh,sbf->hf" [[X]], [[DY]] {links = ["gradient:product.w"], of = 0 : i64}
// CHECK-NEXT:    lf.accumulate [[DW]] to "w" : tensor<16x4xf32>
// CHECK-NEXT:    return [[DX]]
func.func @product(%x: tensor<8x2x16xf32>) -> tensor<8x2x4xf32> {
  %w = lf.param "w" : tensor<16x4xf32>
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x16xf32>, tensor<16x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// B2: three uses of one value give one sum of three terms, not a chain.
// CHECK-LABEL: func.func @three_uses.bwd(
// CHECK-NOT:     lf.sum
// CHECK:         [[FROM_C:%.+]] = lf.activation_grad {{.*}} {kind = "relu", links = ["contribution"], of = 3 : i64}
// CHECK-NOT:     lf.sum
// CHECK:         [[FROM_B:%.+]] = lf.activation_grad {{.*}} {kind = "gelu", links = ["contribution"], of = 2 : i64}
// CHECK-NOT:     lf.sum
// CHECK:         [[FROM_A:%.+]] = lf.activation_grad {{.*}} {kind = "silu", links = ["contribution"], of = 1 : i64}
// CHECK-NEXT:    [[DV:%.+]] = lf.sum [[FROM_C]], [[FROM_B]], [[FROM_A]] {links = ["cotangent:0.0"]}
// CHECK-NOT:     lf.sum
// CHECK:         lf.activation_grad %{{.*}}, [[DV]] {kind = "gelu_tanh", links = ["cotangent:arg0"], of = 0 : i64}
// CHECK-NOT:     lf.sum
func.func @three_uses(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %v = lf.activation %x {kind = "gelu_tanh"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %a = lf.activation %v {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %b = lf.activation %v {kind = "gelu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %c = lf.activation %v {kind = "relu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %y = lf.sum %a, %b, %c : (tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// A sum passes its cotangent on: the residual needs no op of its own, and no value is saved for it.
// CHECK-LABEL: func.func @residual.fwd(
// CHECK-SAME:    -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>) attributes
// CHECK-LABEL: func.func @residual.bwd(
// CHECK-SAME:    [[DY:%.+]]: tensor<8x2x4xf32> {lf.link = "cotangent:1.0"}, [[X:%.+]]: tensor<8x2x4xf32>)
// CHECK-NEXT:    [[DA:%.+]] = lf.activation_grad [[X]], [[DY]] {kind = "silu", links = ["contribution"], of = 0 : i64}
// CHECK-NEXT:    [[DX:%.+]] = lf.sum [[DY]], [[DA]] {links = ["cotangent:arg0"]}
// CHECK-NEXT:    return [[DX]]
func.func @residual(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %a = lf.activation %x {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %y = lf.sum %x, %a : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// B3: an op without influence on an output has no adjoint, and what only it would need is not saved.
// CHECK-LABEL: func.func @dead.fwd(
// CHECK-SAME:    -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>) attributes
// CHECK:         [[LIVE:%.+]] = lf.activation [[X:%.+]] {id = 0 : i64, kind = "silu"}
// CHECK:         lf.matmul
// CHECK:         return [[LIVE]], [[X]] : tensor<8x2x4xf32>, tensor<8x2x4xf32>
// CHECK-LABEL: func.func @dead.bwd(
// CHECK-SAME:    %{{.+}}: tensor<8x2x4xf32> {lf.link = "cotangent:0.0"}, %{{.+}}: tensor<8x2x4xf32>)
// CHECK-NOT:     lf.param
// CHECK-NOT:     lf.matmul
// CHECK-NOT:     lf.accumulate
// CHECK:         lf.activation_grad
// CHECK-NOT:     lf.{{param|matmul|accumulate}}
func.func @dead(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %w = lf.param "w" : tensor<4x4xf32>
  %lost = lf.matmul "sbh,hf->sbf" %y, %w : (tensor<8x2x4xf32>, tensor<4x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// B3: a contribution to an integer input or to nothing real is gone: no cotangent of the ids, no embedding saved.
// CHECK-LABEL: func.func @table.fwd(
// CHECK-SAME:    -> tensor<8x2x16xf32> attributes {lf.outputs = 1 : i64}
// CHECK-LABEL: func.func @table.bwd(
// CHECK-SAME:    [[DX:%.+]]: tensor<8x2x16xf32> {lf.link = "cotangent:0.0"}, [[IDS:%.+]]: tensor<8x2xi32> {lf.input = "ids"}) attributes {lf.cotangents = 1 : i64}
// CHECK-NOT:     lf.param
// CHECK:         [[DE:%.+]] = lf.embedding_grad [[IDS]], [[DX]] {links = ["gradient:table.embedding"], of = 0 : i64}
// CHECK-NEXT:    lf.accumulate [[DE]] to "embedding"
// CHECK-NEXT:    return{{$}}
func.func @table(%ids: tensor<8x2xi32> {lf.input = "ids"}) -> tensor<8x2x16xf32> {
  %e = lf.param "embedding" : tensor<32x16xf32>
  %x = lf.embedding %ids, %e : (tensor<8x2xi32>, tensor<32x16xf32>) -> tensor<8x2x16xf32>
  return %x : tensor<8x2x16xf32>
}

// -----

// A parameter read twice is one value: its contributions name it, and one sum of them is accumulated once.
// CHECK-LABEL: func.func @twice.bwd(
// CHECK:         [[SECOND:%.+]] = lf.matmul "sbh,sbf->hf" {{.*}} {links = ["contribution:twice.w"], of = 1 : i64}
// CHECK-NOT:     lf.accumulate
// CHECK:         [[FIRST:%.+]] = lf.matmul "sbh,sbf->hf" {{.*}} {links = ["contribution:twice.w"], of = 0 : i64}
// CHECK:         [[DW:%.+]] = lf.sum [[SECOND]], [[FIRST]] {links = ["gradient:twice.w"]}
// CHECK-NEXT:    lf.accumulate [[DW]] to "w"
// CHECK-NOT:     lf.accumulate
func.func @twice(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %w1 = lf.param "w" : tensor<4x4xf32>
  %a = lf.matmul "sbh,hf->sbf" %x, %w1 : (tensor<8x2x4xf32>, tensor<4x4xf32>) -> tensor<8x2x4xf32>
  %w2 = lf.param "w" : tensor<4x4xf32>
  %y = lf.matmul "sbh,hf->sbf" %a, %w2 : (tensor<8x2x4xf32>, tensor<4x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// A parameter of another owner keeps it: in the link, in the accumulation.
// CHECK-LABEL: func.func @head.bwd(
// CHECK:         lf.param "embedding" of "embed"
// CHECK:         [[DE:%.+]] = lf.matmul {{.*}} {links = ["gradient:embed.embedding"], of = 0 : i64}
// CHECK:         lf.accumulate [[DE]] to "embedding" of "embed"
func.func @head(%x: tensor<8x2x16xf32>) -> tensor<8x2x32xf32> {
  %e = lf.param "embedding" of "embed" : tensor<32x16xf32>
  %y = lf.matmul "sbh,vh->sbv" %x, %e : (tensor<8x2x16xf32>, tensor<32x16xf32>) -> tensor<8x2x32xf32>
  return %y : tensor<8x2x32xf32>
}

// -----

// Loss scalars are starting points, not arguments: the sum from 1, the count from nothing.
// CHECK-LABEL: func.func @loss.fwd(
// CHECK-SAME:    -> (tensor<f32>, tensor<f32>, tensor<8x2x32xf32>, tensor<8x2xf32>, tensor<8x2xf32>) attributes {lf.outputs = 2 : i64}
// CHECK:         %{{.+}}, [[MAX:%.+]], [[SUM_EXP:%.+]] = lf.cross_entropy
// CHECK:         return %{{.+}}, %{{.+}}, %{{.+}}, [[MAX]], [[SUM_EXP]] :
// CHECK-LABEL: func.func @loss.bwd(
// CHECK-SAME:    [[LABELS:%[^:]+]]: tensor<8x2xi32> {lf.input = "labels"}, [[LOGITS:%[^:]+]]: tensor<8x2x32xf32>, [[MAX:%[^:]+]]: tensor<8x2xf32>, [[SUM_EXP:%[^:]+]]: tensor<8x2xf32>) -> tensor<8x2x32xf32> attributes {lf.cotangents = 0 : i64}
// CHECK-NEXT:    [[ONE:%.+]] = lf.fill {links = ["cotangent:1.0"], value = 1.000000e+00 : f64} : () -> tensor<f32>
// CHECK-NEXT:    [[DNLL:%.+]] = lf.broadcast [[ONE]] {links = ["cotangent:0.0"], of = 1 : i64}
// CHECK-NEXT:    [[DLOGITS:%.+]] = lf.cross_entropy_grad [[LOGITS]], [[MAX]], [[SUM_EXP]], [[LABELS]], [[DNLL]] {links = ["cotangent:arg0"], of = 0 : i64, valid = 29 : i64}
// CHECK-NEXT:    return [[DLOGITS]]
func.func @loss(%logits: tensor<8x2x32xf32>, %labels: tensor<8x2xi32> {lf.input = "labels"}) -> (tensor<f32>, tensor<f32>) {
  %nll, %max, %sum_exp = lf.cross_entropy %logits, %labels {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %sum = lf.sum_all %nll : (tensor<8x2xf32>) -> tensor<f32>
  %count = lf.count %labels : (tensor<8x2xi32>) -> tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}

// -----

// Every body is taken, a function whose name has a dot is not; two bodies do not share numbers.
// CHECK-LABEL: func.func @first.fwd(
// CHECK:         lf.activation %{{.*}} {id = 0 : i64, kind = "silu"}
// CHECK-LABEL: func.func @first.bwd(
// CHECK-LABEL: func.func @second.fwd(
// CHECK:         lf.activation %{{.*}} {id = 0 : i64, kind = "relu"}
// CHECK-LABEL: func.func @second.bwd(
// CHECK-LABEL: func.func @done.fwd(%arg0: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
// CHECK-NOT:   func.func
func.func @first(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %y = lf.activation %x {kind = "silu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
func.func @second(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  %y = lf.activation %x {kind = "relu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
func.func @done.fwd(%x: tensor<8x2x4xf32>) -> tensor<8x2x4xf32> {
  return %x : tensor<8x2x4xf32>
}
