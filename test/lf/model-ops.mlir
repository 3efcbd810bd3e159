// RUN: lf-opt %s | lf-opt | FileCheck %s
// RUN: lf-opt %s --mlir-print-op-generic | lf-opt | FileCheck %s

// Every model op prints as it parses.
// CHECK-LABEL: @linear
func.func @linear(%x: tensor<8x2x16xf32>, %w: tensor<16x4x2x4xf32>, %b: tensor<4x2x4xf32>) -> tensor<8x2x4x2x4xf32> {
  // CHECK: lf.matmul "sbh,hgrd->sbgrd" %{{.*}}, %{{.*}} : (tensor<8x2x16xf32>, tensor<16x4x2x4xf32>) -> tensor<8x2x4x2x4xf32>
  %0 = lf.matmul "sbh,hgrd->sbgrd" %x, %w : (tensor<8x2x16xf32>, tensor<16x4x2x4xf32>) -> tensor<8x2x4x2x4xf32>
  // CHECK: lf.bias_add
  %1 = lf.bias_add %0, %b : (tensor<8x2x4x2x4xf32>, tensor<4x2x4xf32>) -> tensor<8x2x4x2x4xf32>
  // CHECK: lf.bias_grad
  %2 = lf.bias_grad %1 : (tensor<8x2x4x2x4xf32>) -> tensor<4x2x4xf32>
  // CHECK: lf.sum
  %3 = lf.sum %0, %1 : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2x4xf32>) -> tensor<8x2x4x2x4xf32>
  return %3 : tensor<8x2x4x2x4xf32>
}

// CHECK-LABEL: @norms
func.func @norms(%x: tensor<8x2x16xf64>, %w: tensor<16xf64>) -> tensor<8x2x16xf64> {
  // CHECK: lf.rms_norm %{{.*}} {eps = 1.000000e-05 : f64}
  %0 = lf.rms_norm %x, %w {eps = 1.0e-5 : f64} : (tensor<8x2x16xf64>, tensor<16xf64>) -> tensor<8x2x16xf64>
  // CHECK: lf.rms_norm_grad
  %dx, %dw = lf.rms_norm_grad %x, %w, %0 {eps = 1.0e-5 : f64} : (tensor<8x2x16xf64>, tensor<16xf64>, tensor<8x2x16xf64>) -> (tensor<8x2x16xf64>, tensor<16xf64>)
  // CHECK: lf.layer_norm
  %1 = lf.layer_norm %dx, %w, %dw {eps = 1.0e-5 : f64} : (tensor<8x2x16xf64>, tensor<16xf64>, tensor<16xf64>) -> tensor<8x2x16xf64>
  // CHECK: lf.layer_norm_grad
  %2:3 = lf.layer_norm_grad %x, %w, %1 {eps = 1.0e-5 : f64} : (tensor<8x2x16xf64>, tensor<16xf64>, tensor<8x2x16xf64>) -> (tensor<8x2x16xf64>, tensor<16xf64>, tensor<16xf64>)
  return %2#0 : tensor<8x2x16xf64>
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<8x2x4x2x4xf32>, %k: tensor<8x2x4x4xf32>, %p: tensor<8xi32>) -> tensor<8x2x4x2x4xf32> {
  // CHECK: lf.rope %{{.*}} {inv_freq = array<f64: 1.000000e+00, 1.000000e-01>}
  %0 = lf.rope %q, %p {inv_freq = array<f64: 1.0, 0.1>} : (tensor<8x2x4x2x4xf32>, tensor<8xi32>) -> tensor<8x2x4x2x4xf32>
  // CHECK: lf.rope %{{.*}} inverse
  %1 = lf.rope %k, %p {inv_freq = array<f64: 1.0, 0.1>, inverse} : (tensor<8x2x4x4xf32>, tensor<8xi32>) -> tensor<8x2x4x4xf32>
  // CHECK: lf.attention %{{.*}} {scale = 5.000000e-01 : f64, window = 4 : i64}
  %o, %lse = lf.attention %0, %1, %k, %p, %p {scale = 0.5 : f64, window = 4 : i64} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>)
  // CHECK: lf.attention_grad
  %2:3 = lf.attention_grad %0, %1, %k, %p, %p, %o, %lse, %q {scale = 0.5 : f64} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>, tensor<8x2x4x2x4xf32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>)
  return %2#0 : tensor<8x2x4x2x4xf32>
}

// CHECK-LABEL: @elementwise
func.func @elementwise(%x: tensor<8x2x16xf32>, %p: tensor<8xi32>) -> tensor<8x2x16xf32> {
  // CHECK: lf.activation %{{.*}} {kind = "gelu_tanh"}
  %0 = lf.activation %x {kind = "gelu_tanh"} : (tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  // CHECK: lf.activation_grad
  %1 = lf.activation_grad %x, %0 {kind = "relu"} : (tensor<8x2x16xf32>, tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  // CHECK: lf.glu
  %2 = lf.glu %0, %1 {kind = "silu"} : (tensor<8x2x16xf32>, tensor<8x2x16xf32>) -> tensor<8x2x16xf32>
  // CHECK: lf.glu_grad
  %3:2 = lf.glu_grad %0, %1, %2 {kind = "silu"} : (tensor<8x2x16xf32>, tensor<8x2x16xf32>, tensor<8x2x16xf32>) -> (tensor<8x2x16xf32>, tensor<8x2x16xf32>)
  // CHECK: lf.dropout %{{.*}} {p = 1.000000e-01 : f64, site = 2 : i64}
  %4 = lf.dropout %3#0, %p {p = 0.1 : f64, site = 2 : i64} : (tensor<8x2x16xf32>, tensor<8xi32>) -> tensor<8x2x16xf32>
  return %4 : tensor<8x2x16xf32>
}

// CHECK-LABEL: @embeddings
func.func @embeddings(%ids: tensor<8x2xi32>, %t: tensor<32x16xf32>, %p: tensor<8xi32>) -> tensor<32x16xf32> {
  // CHECK: lf.embedding
  %0 = lf.embedding %ids, %t : (tensor<8x2xi32>, tensor<32x16xf32>) -> tensor<8x2x16xf32>
  // CHECK: lf.position_embedding
  %1 = lf.position_embedding %0, %p, %t : (tensor<8x2x16xf32>, tensor<8xi32>, tensor<32x16xf32>) -> tensor<8x2x16xf32>
  // CHECK: lf.position_embedding_grad
  %2 = lf.position_embedding_grad %p, %1 : (tensor<8xi32>, tensor<8x2x16xf32>) -> tensor<32x16xf32>
  // CHECK: lf.embedding_grad
  %3 = lf.embedding_grad %ids, %1 : (tensor<8x2xi32>, tensor<8x2x16xf32>) -> tensor<32x16xf32>
  return %3 : tensor<32x16xf32>
}

// CHECK-LABEL: @loss
func.func @loss(%l: tensor<8x2x32xf32>, %y: tensor<8x2xi32>) -> tensor<f32> {
  // CHECK: lf.cross_entropy %{{.*}} {valid = 29 : i64}
  %nll, %m, %z = lf.cross_entropy %l, %y {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
  // CHECK: lf.row_max
  %0 = lf.row_max %l {valid = 29 : i64} : (tensor<8x2x32xf32>) -> tensor<8x2xf32>
  // CHECK: lf.sum_exp
  %1 = lf.sum_exp %l, %0 {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
  // CHECK: lf.pick
  %2 = lf.pick %l, %y : (tensor<8x2x32xf32>, tensor<8x2xi32>) -> tensor<8x2xf32>
  // CHECK: lf.nll
  %3 = lf.nll %1, %0, %2, %y : (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xi32>) -> tensor<8x2xf32>
  // CHECK: lf.fill
  %one = lf.fill {value = 1.0 : f64} : () -> tensor<f32>
  // CHECK: lf.broadcast
  %4 = lf.broadcast %one : (tensor<f32>) -> tensor<8x2xf32>
  // CHECK: lf.cross_entropy_grad
  %5 = lf.cross_entropy_grad %l, %m, %z, %y, %4 {valid = 29 : i64} : (tensor<8x2x32xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xi32>, tensor<8x2xf32>) -> tensor<8x2x32xf32>
  // CHECK: lf.count
  %c = lf.count %y : (tensor<8x2xi32>) -> tensor<f32>
  // CHECK: lf.sum_all
  %s = lf.sum_all %3 : (tensor<8x2xf32>) -> tensor<f32>
  return %s : tensor<f32>
}

// CHECK-LABEL: @parameters
func.func @parameters(%d: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: lf.param "embedding" of "embed" : tensor<4xf32>
  %0 = lf.param "embedding" of "embed" : tensor<4xf32>
  // CHECK: lf.accumulate %{{.*}} to "norm" {layout = #lf.layout<[{}], partial sum {dp}>} : tensor<4xf32>
  lf.accumulate %d to "norm" {layout = #lf.layout<[{}], partial sum {dp}>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
