// RUN: lf-opt %s --lf-expand-cross-entropy --split-input-file | FileCheck %s
// RUN: lf-opt %s --lf-differentiate --lf-expand-cross-entropy --split-input-file | FileCheck %s --check-prefix=TRAIN

// Four ops that name their factors; row_max before sum_exp, which reads it.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    [[LOGITS:%[^:]+]]: tensor<8x2x32xf32>, [[LABELS:%[^:]+]]: tensor<8x2xi32>
// CHECK-NEXT:    [[MAX:%.+]] = lf.row_max [[LOGITS]] {valid = 29 : i64} : (tensor<8x2x32xf32>) -> tensor<8x2xf32>
// CHECK-NEXT:    [[SUM_EXP:%.+]] = lf.sum_exp [[LOGITS]], [[MAX]] {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
// CHECK-NEXT:    [[TARGET:%.+]] = lf.pick [[LOGITS]], [[LABELS]] : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> tensor<8x2xf32>
// CHECK-NEXT:    [[NLL:%.+]] = lf.nll [[SUM_EXP]], [[MAX]], [[TARGET]], [[LABELS]] :
// CHECK-NEXT:    [[SUM:%.+]] = lf.sum_all [[NLL]]
// CHECK-NEXT:    return [[SUM]] :

// After differentiation: row_max keeps the number, since it has every factor and the adjoint takes its roles; the others
// get fresh ones; the cotangent of the loss of each token follows to nll; max and sum_exp are saved from their new ops.
// TRAIN-LABEL: func.func @loss.fwd(
// TRAIN:         [[MAX:%.+]] = lf.row_max %{{.*}} {id = 0 : i64, valid = 29 : i64}
// TRAIN:         [[SUM_EXP:%.+]] = lf.sum_exp %{{.*}} {id = 2 : i64, valid = 29 : i64}
// TRAIN:         lf.pick %{{.*}} {id = 3 : i64}
// TRAIN:         [[NLL:%.+]] = lf.nll %{{.*}} {id = 4 : i64}
// TRAIN:         [[SUM:%.+]] = lf.sum_all [[NLL]] {id = 1 : i64}
// TRAIN:         return [[SUM]], %{{.*}}, [[MAX]], [[SUM_EXP]] :
// TRAIN-LABEL: func.func @loss.bwd(
// TRAIN:         lf.fill {links = ["cotangent:1.0"]
// TRAIN:         lf.broadcast %{{.*}} {links = ["cotangent:4.0"], of = 1 : i64}
// TRAIN:         lf.cross_entropy_grad {{.*}} {links = ["cotangent:arg0"], of = 0 : i64, valid = 29 : i64}
func.func @loss(%logits: tensor<8x2x32xf32>, %labels: tensor<8x2xi32> {lf.input = "labels"}) -> tensor<f32> {
  %nll, %max, %sum_exp = lf.cross_entropy %logits, %labels {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %sum = lf.sum_all %nll : (tensor<8x2xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

// Two losses of one body do not share numbers, and each cotangent follows its own nll.
// TRAIN-LABEL: func.func @two.fwd(
// TRAIN:         lf.row_max %{{.*}} {id = 0 : i64, valid = 32 : i64}
// TRAIN:         lf.nll %{{.*}} {id = [[A:[0-9]+]] : i64}
// TRAIN:         lf.row_max %{{.*}} {id = 1 : i64, valid = 29 : i64}
// TRAIN:         lf.nll %{{.*}} {id = [[B:[0-9]+]] : i64}
// TRAIN-LABEL: func.func @two.bwd(
// TRAIN:         [[D:%.+]] = lf.broadcast %{{.*}} {links = ["cotangent:2.0"]
// TRAIN:         lf.cross_entropy_grad {{.*}}of = 1 : i64
// TRAIN:         lf.cross_entropy_grad {{.*}}of = 0 : i64
func.func @two(%logits: tensor<8x2x32xf32>, %labels: tensor<8x2xi32> {lf.input = "labels"}) -> tensor<f32> {
  %a, %max_a, %sum_a = lf.cross_entropy %logits, %labels {valid = 32 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %b, %max_b, %sum_b = lf.cross_entropy %logits, %labels {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  %both = lf.sum %a, %b : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  %sum = lf.sum_all %both : (tensor<8x2xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

// A cotangent that is an argument follows to nll too.
// TRAIN-LABEL: func.func @per_token.fwd(
// TRAIN:         lf.nll %{{.*}} {id = [[NLL:[0-9]+]] : i64}
// TRAIN-LABEL: func.func @per_token.bwd(
// TRAIN-SAME:    {lf.link = "cotangent:[[NLL]].0"}
func.func @per_token(%logits: tensor<8x2x32xf32>, %labels: tensor<8x2xi32> {lf.input = "labels"}) -> tensor<8x2xf32> {
  %nll, %max, %sum_exp = lf.cross_entropy %logits, %labels {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  return %nll : tensor<8x2xf32>
}
