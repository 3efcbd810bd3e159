// RUN: lf-opt %s --lf-verify-partitioned | FileCheck %s

// What lf-partition leaves is accepted: collectives, shards, layouts of gradients.
// CHECK-LABEL: func.func @f.bwd(
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
lf.declare "f" "e" : tensor<16x4xf32> {split = ["", ""], closed = [], hf_name = "e", valid = array<i64: 16, 4>, rows = 1, hf_col = 0, hf_cols = 4, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{tp}, {}]>, gradient = #lf.layout<[{tp}, {}], partial sum {dp}>}
func.func @f.bwd(%ids: tensor<8x1xi32>, %dx: tensor<4x1x4xf32>) {
  %g = lf.all_gather %dx dim 0 over ["tp"] : tensor<4x1x4xf32> -> tensor<8x1x4xf32>
  %d = lf.embedding_grad %ids, %g {shards = #lf.roles<v = {tp}>} : (tensor<8x1xi32>, tensor<8x1x4xf32>) -> tensor<8x4xf32>
  lf.accumulate %d to "e" {layout = #lf.layout<[{tp}, {}], partial sum {dp}>} : tensor<8x4xf32>
  return
}
