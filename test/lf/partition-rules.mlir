// RUN: lf-opt %s --lf-differentiate --lf-propagate --lf-partition --lf-verify-partitioned --split-input-file | FileCheck %s --implicit-check-not=lf.all_ --implicit-check-not=lf.reduce_ --implicit-check-not=lf.slice --implicit-check-not=lf.mask

// Every conversion of these bodies is checked: one that is not named below is an error.

// R1: two products want the sequence whole, and share one gather; so do their weight gradients, of the saved shard.
// CHECK-LABEL: func.func @share.fwd(
// CHECK-SAME:    [[X:%[^:]+]]: tensor<4x2x8xf32>)
// CHECK:         [[WHOLE:%.+]] = lf.all_gather [[X]] dim 0 over ["tp"]
// CHECK-SAME:      reason = "x: [{tp}, {}, {}] -> [{}, {}, {}], operand of matmul \22gate\22 (share)"
// CHECK:         lf.matmul "sbh,hf->sbf" [[WHOLE]], %{{.*}} : (tensor<8x2x8xf32>, tensor<8x8xf32>) -> tensor<8x2x8xf32>
// CHECK:         lf.matmul "sbh,hf->sbf" [[WHOLE]],
// R3: what crosses to the backward is the shard, not the gathered copy.
// CHECK:         return %{{.*}}, [[X]] :
// R2: both contributions are partial over tp; they are added first, and converted once.
// CHECK-LABEL: func.func @share.bwd(
// CHECK-SAME:    [[X:%[^:]+]]: tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
// CHECK:         [[A:%.+]] = lf.matmul "sbf,hf->sbh"
// CHECK:         [[AGAIN:%.+]] = lf.all_gather [[X]] dim 0 over ["tp"]
// CHECK:         lf.matmul "sbh,sbf->hf" [[AGAIN]],
// CHECK:         [[B:%.+]] = lf.matmul "sbf,hf->sbh"
// CHECK:         lf.matmul "sbh,sbf->hf" [[AGAIN]],
// CHECK:         [[SUM:%.+]] = lf.sum [[A]], [[B]] : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x2x8xf32>
// CHECK-NEXT:    [[DX:%.+]] = lf.reduce_scatter "sum" [[SUM]] dim 0 over ["tp"]
// CHECK-NEXT:    return [[DX]]
lf.mesh axes ["tp"] sizes [2] names {}
lf.declare "share" "gate" : tensor<8x16xf32> {split = ["", ""], closed = [], hf_name = "gate", valid = array<i64: 8, 16>, rows = 1, hf_col = 0, hf_cols = 16, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {tp}]>}
lf.declare "share" "up" : tensor<8x16xf32> {split = ["", ""], closed = [], hf_name = "up", valid = array<i64: 8, 16>, rows = 1, hf_col = 0, hf_cols = 16, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {tp}]>}
func.func @share(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{tp}, {}, {}]>} loc("x")) -> (tensor<8x2x16xf32>, tensor<8x2x16xf32>) {
  %g = lf.param "gate" : tensor<8x16xf32>
  %u = lf.param "up" : tensor<8x16xf32>
  %a = lf.matmul "sbh,hf->sbf" %x, %g : (tensor<8x2x8xf32>, tensor<8x16xf32>) -> tensor<8x2x16xf32> loc("gate")
  %b = lf.matmul "sbh,hf->sbf" %x, %u : (tensor<8x2x8xf32>, tensor<8x16xf32>) -> tensor<8x2x16xf32> loc("up")
  return %a, %b : tensor<8x2x16xf32>, tensor<8x2x16xf32>
}

// -----

// R3: attention pinned to heads over cp (Ulysses). q, k, v and the result are exchanged in the forward, and cross as the
// backward needs them: heads split, the result in both forms. So the backward has one exchange for each cotangent, four.
// CHECK-LABEL: func.func @ulysses.fwd(
// CHECK-SAME:    [[Q:%[^:]+]]: tensor<4x2x4x2x4xf32>, [[K:%[^:]+]]: tensor<4x2x4x4xf32>, [[V:%[^:]+]]: tensor<4x2x4x4xf32>,
// CHECK-DAG:     [[QH:%.+]] = lf.all_to_all [[Q]] from 0 to 2 over ["cp"] {{.*}} : tensor<4x2x4x2x4xf32> -> tensor<8x2x2x2x4xf32>
// CHECK-DAG:     [[KH:%.+]] = lf.all_to_all [[K]] from 0 to 2 over ["cp"]
// CHECK-DAG:     [[VH:%.+]] = lf.all_to_all [[V]] from 0 to 2 over ["cp"]
// CHECK:         [[OH:%.+]], [[LSE:%.+]] = lf.attention [[QH]], [[KH]], [[VH]],
// CHECK:         [[O:%.+]] = lf.all_to_all [[OH]] from 2 to 0 over ["cp"]
// CHECK:         lf.matmul "sbgrd,grdh->sbh" [[O]],
// CHECK:         return %{{[^,]+}}, [[O]], [[OH]], [[QH]], [[KH]], [[VH]], [[LSE]] :
// CHECK-LABEL: func.func @ulysses.bwd(
// CHECK:         lf.all_to_all %{{.*}} from 0 to 2 over ["cp"]
// CHECK:         lf.attention_grad
// CHECK-COUNT-3: lf.all_to_all %{{.*}} from 2 to 0 over ["cp"]
// CHECK:         return
lf.mesh axes ["cp"] sizes [2] names {}
lf.declare "ulysses" "o" : tensor<4x2x4x8xf32> {split = ["", "", "", ""], closed = [], hf_name = "o", valid = array<i64: 4, 2, 4, 8>, rows = 3, hf_col = 0, hf_cols = 8, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {}, {}, {}]>}
func.func @ulysses(%q: tensor<8x2x4x2x4xf32> {lf.layout = #lf.layout<[{cp}, {}, {}, {}, {}]>}, %k: tensor<8x2x4x4xf32> {lf.layout = #lf.layout<[{cp}, {}, {}, {}]>}, %v: tensor<8x2x4x4xf32> {lf.layout = #lf.layout<[{cp}, {}, {}, {}]>}, %pos: tensor<8xi32> {lf.input = "positions", lf.layout = #lf.layout<[{}]>}) -> tensor<8x2x8xf32> {
  %o, %lse = lf.attention %q, %k, %v, %pos, %pos {scale = 0.5 : f64, pin = #lf.roles<g = {cp}>} : (tensor<8x2x4x2x4xf32>, tensor<8x2x4x4xf32>, tensor<8x2x4x4xf32>, tensor<8xi32>, tensor<8xi32>) -> (tensor<8x2x4x2x4xf32>, tensor<8x2x4x2xf32>)
  %w = lf.param "o" : tensor<4x2x4x8xf32>
  %y = lf.matmul "sbgrd,grdh->sbh" %o, %w {seed = #lf.layout<[{cp}, {}, {}]>} : (tensor<8x2x4x2x4xf32>, tensor<4x2x4x8xf32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

// A whole constant is sliced, which is free: rope reads its own positions.
// CHECK-LABEL: func.func @slice.fwd(
// CHECK-SAME:    [[X:%[^:]+]]: tensor<4x2x4x4xf32>, [[POS:%[^:]+]]: tensor<8xi32> {lf.input = "positions"})
// CHECK:         [[MINE:%.+]] = lf.slice [[POS]] dim 0 over ["tp"] {{.*}} : tensor<8xi32> -> tensor<4xi32>
// CHECK-NEXT:    lf.rope [[X]], [[MINE]]
// CHECK-LABEL: func.func @slice.bwd(
// CHECK:         lf.slice %{{.*}} dim 0 over ["tp"]
// CHECK-NEXT:    lf.rope
lf.mesh axes ["tp"] sizes [2] names {}
func.func @slice(%x: tensor<8x2x4x4xf32> {lf.layout = #lf.layout<[{tp}, {}, {}, {}]>}, %pos: tensor<8xi32> {lf.input = "positions", lf.layout = #lf.layout<[{}]>}) -> tensor<8x2x4x4xf32> {
  %y = lf.rope %x, %pos {inv_freq = array<f64: 1.0, 0.01>} : (tensor<8x2x4x4xf32>, tensor<8xi32>) -> tensor<8x2x4x4xf32>
  return %y : tensor<8x2x4x4xf32>
}

// -----

// Kernels that work by global index learn what they hold: dropout its samples and channels, embedding its rows.
// CHECK-LABEL: func.func @indexed.fwd(
// CHECK:         lf.embedding {{.*}} {shards = #lf.roles<v = {tp}>}
// CHECK:         lf.all_reduce "sum" %{{.*}} over ["tp"]
// CHECK:         lf.dropout {{.*}} {p = 1.000000e-01 : f64, shards = #lf.roles<b = {dp}>, site = 0 : i64}
// CHECK-LABEL: func.func @indexed.bwd(
// CHECK:         lf.dropout {{.*}} {p = 1.000000e-01 : f64, shards = #lf.roles<b = {dp}>, site = 0 : i64}
// CHECK:         lf.embedding_grad {{.*}} {shards = #lf.roles<v = {tp}>}
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
lf.declare "indexed" "e" : tensor<16x8xf32> {split = ["", ""], closed = [], hf_name = "e", valid = array<i64: 16, 8>, rows = 1, hf_col = 0, hf_cols = 8, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{tp}, {}]>}
func.func @indexed(%ids: tensor<8x2xi32> {lf.input = "ids", lf.layout = #lf.layout<[{}, {dp}]>}, %pos: tensor<8xi32> {lf.input = "positions", lf.layout = #lf.layout<[{}]>}) -> tensor<8x2x8xf32> {
  %e = lf.param "e" : tensor<16x8xf32>
  %x = lf.embedding %ids, %e : (tensor<8x2xi32>, tensor<16x8xf32>) -> tensor<8x2x8xf32>
  %y = lf.dropout %x, %pos {p = 0.1 : f64, site = 0 : i64, seed = #lf.layout<[{}, {dp}, {}]>} : (tensor<8x2x8xf32>, tensor<8xi32>) -> tensor<8x2x8xf32>
  return %y : tensor<8x2x8xf32>
}

// -----

// L3, and merging: two axes that leave one dim go in one gather over the product group.
// CHECK-LABEL: func.func @product_group.fwd(
// CHECK:         lf.all_gather %{{.*}} dim 0 over ["cp", "tp"] {{.*}} : tensor<2x2x8xf32> -> tensor<8x2x8xf32>
// CHECK-LABEL: func.func @product_group.bwd(
// CHECK:         lf.reduce_scatter "sum" %{{.*}} dim 0 over ["cp", "tp"]
// CHECK:         lf.all_gather %{{.*}} dim 0 over ["cp", "tp"]
// CHECK:         return
lf.mesh axes ["cp", "tp"] sizes [2, 2] names {}
lf.declare "product_group" "w" : tensor<8x16xf32> {split = ["", ""], closed = [], hf_name = "w", valid = array<i64: 8, 16>, rows = 1, hf_col = 0, hf_cols = 16, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {cp, tp}]>}
func.func @product_group(%x: tensor<8x2x8xf32> {lf.layout = #lf.layout<[{cp, tp}, {}, {}]>}) -> tensor<8x2x16xf32> {
  %w = lf.param "w" : tensor<8x16xf32>
  %y = lf.matmul "sbh,hf->sbf" %x, %w : (tensor<8x2x8xf32>, tensor<8x16xf32>) -> tensor<8x2x16xf32>
  return %y : tensor<8x2x16xf32>
}
