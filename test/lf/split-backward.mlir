// RUN: lf-opt %s --lf-split-backward --lf-verify-partitioned | FileCheck %s

lf.declare "block" "g" : tensor<8xf32> {split = [""], closed = [], hf_name = "g", valid = array<i64: 8>, rows = 0, hf_col = 0, hf_cols = 0, init = "ones", std = 0.0 : f64, gradient = #lf.layout<[{}]>}
lf.declare "block" "w" : tensor<8x4xf32> {split = ["", ""], closed = [], hf_name = "w", valid = array<i64: 8, 4>, rows = 1, hf_col = 0, hf_cols = 4, init = "ones", std = 0.0 : f64, gradient = #lf.layout<[{}, {}]>}

// The product that only the weight needs moves, and takes its gather with it. The gradient of the norm's weight comes beside
// the cotangent: it is accumulated at once. What both need crosses: the gathered copy of dy, which takes the place of x.
// CHECK-LABEL: func.func @block.bwd
// CHECK-SAME:    (%[[DY:.+]]: tensor<4x1x4xf32>, %[[X:.+]]: tensor<4x1x8xf32>, %[[N:.+]]: tensor<4x1x8xf32>) -> (tensor<4x1x8xf32>, tensor<8x1x4xf32>)
// CHECK-SAME:    lf.crossing = 1
// CHECK:         %[[DYG:.+]] = lf.all_gather %[[DY]]
// CHECK:         %[[DN:.+]] = lf.matmul "sbf,hf->sbh" %[[DYG]]
// CHECK:         %[[DNS:.+]] = lf.reduce_scatter "sum" %[[DN]]
// CHECK:         %[[DX:.+]], %[[DG:.+]] = lf.rms_norm_grad %[[X]], %{{.+}}, %[[DNS]]
// CHECK-NEXT:    lf.accumulate %[[DG]] to "g"
// CHECK-NOT:     "sbh,sbf->hf"
// CHECK:         return %[[DX]], %[[DYG]]
// CHECK-LABEL: func.func @block.wgrad
// CHECK-SAME:    (%[[N:.+]]: tensor<4x1x8xf32> {lf.saved = 1 : i64}, %[[DYG:.+]]: tensor<8x1x4xf32>)
// CHECK:         %[[NG:.+]] = lf.all_gather %[[N]]
// CHECK:         %[[DW:.+]] = lf.matmul "sbh,sbf->hf" %[[NG]], %[[DYG]]
// CHECK-NEXT:    lf.accumulate %[[DW]] to "w"
// CHECK-NEXT:    return{{$}}
lf.mesh axes ["tp"] sizes [2] names {tp = ["tp"]}
func.func @block.bwd(%dy: tensor<4x1x4xf32>, %x: tensor<4x1x8xf32>, %n: tensor<4x1x8xf32>) -> tensor<4x1x8xf32> attributes {lf.cotangents = 1} {
  %g = lf.param "g" : tensor<8xf32>
  %w = lf.param "w" : tensor<8x4xf32>
  %dyg = lf.all_gather %dy dim 0 over ["tp"] {reason = "test"} : tensor<4x1x4xf32> -> tensor<8x1x4xf32>
  %dn = lf.matmul "sbf,hf->sbh" %dyg, %w : (tensor<8x1x4xf32>, tensor<8x4xf32>) -> tensor<8x1x8xf32>
  %dns = lf.reduce_scatter "sum" %dn dim 0 over ["tp"] {reason = "test"} : tensor<8x1x8xf32> -> tensor<4x1x8xf32>
  %ng = lf.all_gather %n dim 0 over ["tp"] {reason = "test"} : tensor<4x1x8xf32> -> tensor<8x1x8xf32>
  %dw = lf.matmul "sbh,sbf->hf" %ng, %dyg : (tensor<8x1x8xf32>, tensor<8x1x4xf32>) -> tensor<8x4xf32>
  lf.accumulate %dw to "w" {layout = #lf.layout<[{}, {}]>} : tensor<8x4xf32>
  %dx, %dg = lf.rms_norm_grad %x, %g, %dns {eps = 1.0e-5 : f64} : (tensor<4x1x8xf32>, tensor<8xf32>, tensor<4x1x8xf32>) -> (tensor<4x1x8xf32>, tensor<8xf32>)
  lf.accumulate %dg to "g" {layout = #lf.layout<[{}]>} : tensor<8xf32>
  return %dx : tensor<4x1x8xf32>
}

// A gathered cotangent that is larger than any saved value that is dead by then would make the bundle grow: the product
// stays, with its gather.
// CHECK-LABEL: func.func @wide.bwd
// CHECK-SAME:    lf.crossing = 0
// CHECK:         lf.matmul "sbh,sbf->hf"
// CHECK-NEXT:    lf.accumulate
// CHECK-LABEL: func.func @wide.wgrad() {
// CHECK-NEXT:    return{{$}}
func.func @wide.bwd(%dy: tensor<4x1x16xf32>, %x: tensor<4x1x8xf32>, %n: tensor<4x1x8xf32>) -> tensor<4x1x8xf32> attributes {lf.cotangents = 1} {
  %g = lf.param "g" of "block" : tensor<8xf32>
  %w = lf.param "w" of "block" : tensor<8x16xf32>
  %dyg = lf.all_gather %dy dim 0 over ["tp"] {reason = "test"} : tensor<4x1x16xf32> -> tensor<8x1x16xf32>
  %dn = lf.matmul "sbf,hf->sbh" %dyg, %w : (tensor<8x1x16xf32>, tensor<8x16xf32>) -> tensor<8x1x8xf32>
  %dns = lf.reduce_scatter "sum" %dn dim 0 over ["tp"] {reason = "test"} : tensor<8x1x8xf32> -> tensor<4x1x8xf32>
  %ng = lf.all_gather %n dim 0 over ["tp"] {reason = "test"} : tensor<4x1x8xf32> -> tensor<8x1x8xf32>
  %dw = lf.matmul "sbh,sbf->hf" %ng, %dyg : (tensor<8x1x8xf32>, tensor<8x1x16xf32>) -> tensor<8x16xf32>
  lf.accumulate %dw to "w" of "block" {layout = #lf.layout<[{}, {}]>} : tensor<8x16xf32>
  %dx, %dg = lf.rms_norm_grad %x, %g, %dns {eps = 1.0e-5 : f64} : (tensor<4x1x8xf32>, tensor<8xf32>, tensor<4x1x8xf32>) -> (tensor<4x1x8xf32>, tensor<8xf32>)
  lf.accumulate %dg to "g" of "block" {layout = #lf.layout<[{}]>} : tensor<8xf32>
  return %dx : tensor<4x1x8xf32>
}

// A function that returns no cotangent would have its cotangent cross, and no saved value whose place that could take: it
// accumulates at once.
lf.declare "embed" "embedding" : tensor<32x8xf32> {split = ["", ""], closed = [], hf_name = "e", valid = array<i64: 32, 8>, rows = 1, hf_col = 0, hf_cols = 8, init = "normal", std = 0.02 : f64, gradient = #lf.layout<[{}, {}]>}
// CHECK-LABEL: func.func @embed.bwd(
// CHECK-SAME:    lf.crossing = 0
// CHECK-NEXT:    %[[DE:.+]] = lf.embedding_grad %arg1, %arg0
// CHECK-NEXT:    lf.accumulate %[[DE]] to "embedding"
// CHECK-LABEL: func.func @embed.wgrad() {
// CHECK-NEXT:    return{{$}}
func.func @embed.bwd(%dy: tensor<8x1x8xf32>, %ids: tensor<8x1xi32> {lf.input = "ids"}) attributes {lf.cotangents = 1} {
  %de = lf.embedding_grad %ids, %dy : (tensor<8x1xi32>, tensor<8x1x8xf32>) -> tensor<32x8xf32>
  lf.accumulate %de to "embedding" {layout = #lf.layout<[{}, {}]>} : tensor<32x8xf32>
  return
}
