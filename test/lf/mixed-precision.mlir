// RUN: lf-opt %s --lf-differentiate --lf-expand-cross-entropy --lf-mixed-precision --split-input-file | FileCheck %s
// RUN: lf-opt %s --lf-differentiate --lf-expand-cross-entropy --lf-mixed-precision --lf-mixed-precision --split-input-file | FileCheck %s

// Statistics, the loss and gradients of parameters are float32; activations, their cotangents and parameters stay bfloat16.
// CHECK-LABEL: func.func @loss.fwd(
// CHECK-SAME:    ) -> (tensor<f32>, tensor<8x2x32xbf16>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2x16xbf16>)
// CHECK:         lf.matmul {{.*}} -> tensor<8x2x32xbf16>
// CHECK:         lf.row_max {{.*}} -> tensor<8x2xf32>
// CHECK:         lf.sum_exp {{.*}} : (tensor<8x2x32xbf16>, tensor<8x2xf32>) -> tensor<8x2xf32>
// CHECK:         lf.nll {{.*}} -> tensor<8x2xf32>
// CHECK:         lf.sum_all {{.*}} -> tensor<f32>
// CHECK-LABEL: func.func @loss.bwd(
// CHECK-SAME:    tensor<8x2x32xbf16>, %{{[^:]*}}: tensor<8x2xf32>, %{{[^:]*}}: tensor<8x2xf32>, %{{[^:]*}}: tensor<8x2x16xbf16>) -> tensor<8x2x16xbf16>
// CHECK:         lf.fill {{.*}} tensor<f32>
// CHECK:         lf.cross_entropy_grad {{.*}} -> tensor<8x2x32xbf16>
// CHECK-DAG:     lf.matmul "sbv,hv->sbh" {{.*}} -> tensor<8x2x16xbf16>
// CHECK-DAG:     [[DW:%.+]] = lf.matmul "sbh,sbv->hv" {{.*}} -> tensor<16x32xf32>
// CHECK-DAG:     lf.accumulate [[DW]] to "head" : tensor<16x32xf32>
func.func @loss(%x: tensor<8x2x16xbf16>, %labels: tensor<8x2xi32> {lf.input = "labels"}) -> tensor<bf16> {
  %w = lf.param "head" : tensor<16x32xbf16>
  %logits = lf.matmul "sbh,hv->sbv" %x, %w : (tensor<8x2x16xbf16>, tensor<16x32xbf16>) -> tensor<8x2x32xbf16>
  %nll, %max, %sum_exp = lf.cross_entropy %logits, %labels {valid = 29 : i64} : (tensor<8x2x32xbf16>, tensor<8x2xi32>) -> (tensor<8x2xbf16>, tensor<8x2xbf16>, tensor<8x2xbf16>)
  %sum = lf.sum_all %nll : (tensor<8x2xbf16>) -> tensor<bf16>
  return %sum : tensor<bf16>
}

// -----

// A parameter that is used twice: its two gradients are added in float32.
// CHECK-LABEL: func.func @twice.bwd(
// CHECK:         [[A:%.+]] = lf.matmul "sbh,sbf->hf" {{.*}} -> tensor<16x16xf32>
// CHECK:         [[B:%.+]] = lf.matmul "sbh,sbf->hf" {{.*}} -> tensor<16x16xf32>
// CHECK:         [[SUM:%.+]] = lf.sum [[A]], [[B]] {{.*}}-> tensor<16x16xf32>
// CHECK:         lf.accumulate [[SUM]] to "w" : tensor<16x16xf32>
func.func @twice(%x: tensor<8x2x16xbf16>) -> tensor<8x2x16xbf16> {
  %w = lf.param "w" : tensor<16x16xbf16>
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x16xbf16>, tensor<16x16xbf16>) -> tensor<8x2x16xbf16>
  %z = lf.matmul "sbh,hf->sbf" %y, %w : (tensor<8x2x16xbf16>, tensor<16x16xbf16>) -> tensor<8x2x16xbf16>
  return %z : tensor<8x2x16xbf16>
}

// -----

// The scale of attention's adjoint and of a norm's: the log-sum-exp and the weight's gradient.
// CHECK-LABEL: func.func @attention.fwd(
// CHECK:         lf.rms_norm {{.*}} -> tensor<8x2x2x2x4xbf16>
// CHECK:         lf.attention {{.*}} -> (tensor<8x2x2x2x4xbf16>, tensor<8x2x2x2xf32>)
// CHECK-LABEL: func.func @attention.bwd(
// CHECK:         lf.attention_grad {{.*}} -> (tensor<8x2x2x2x4xbf16>, tensor<8x2x2x4xbf16>, tensor<8x2x2x4xbf16>)
// CHECK:         lf.rms_norm_grad {{.*}} -> (tensor<8x2x2x2x4xbf16>, tensor<4xf32>)
func.func @attention(%q: tensor<8x2x2x2x4xbf16>, %k: tensor<8x2x2x4xbf16>, %p: tensor<8xi32> {lf.input = "positions"}) -> tensor<8x2x2x2x4xbf16> {
  %w = lf.param "q_norm" : tensor<4xbf16>
  %n = lf.rms_norm %q, %w {eps = 1.0e-05 : f64} : (tensor<8x2x2x2x4xbf16>, tensor<4xbf16>) -> tensor<8x2x2x2x4xbf16>
  %o, %lse = lf.attention %n, %k, %k, %p, %p {scale = 5.0e-01 : f64} : (tensor<8x2x2x2x4xbf16>, tensor<8x2x2x4xbf16>, tensor<8x2x2x4xbf16>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x2x2x4xbf16>, tensor<8x2x2x2xbf16>)
  return %o : tensor<8x2x2x2x4xbf16>
}

// -----

// Models of another type stay as they are.
// CHECK-LABEL: func.func @double.bwd(
// CHECK:         lf.matmul "sbh,sbf->hf" {{.*}} -> tensor<16x16xf64>
func.func @double(%x: tensor<8x2x16xf64>) -> tensor<8x2x16xf64> {
  %w = lf.param "w" : tensor<16x16xf64>
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x16xf64>, tensor<16x16xf64>) -> tensor<8x2x16xf64>
  return %y : tensor<8x2x16xf64>
}
