// What lf-partition leaves of a small model under dp 2 and tp 2: an embedding tied to the head, and two blocks of norm,
// column-parallel product and residual. Tests add mesh, stages and programs.
lf.declare "embed" "embedding" : tensor<64x8xf32> {split = ["", ""], closed = [], hf_name = "wte.weight", valid = array<i64: 60, 8>, rows = 1 : i64, hf_col = 0 : i64, hf_cols = 0 : i64, decay, init = "normal", std = 2.0e-02 : f64, layout = #lf.layout<[{tp}, {}]>, gradient = #lf.layout<[{tp}, {}], partial sum {dp}>}
lf.declare "block" "norm" : tensor<8xf32> {split = [""], closed = [], hf_name = "h.%d.ln.weight", valid = array<i64: 8>, rows = 0 : i64, hf_col = 0 : i64, hf_cols = 0 : i64, init = "ones", std = 2.0e-02 : f64, layout = #lf.layout<[{}]>, gradient = #lf.layout<[{}], partial sum {dp}>}
lf.declare "block" "w" : tensor<8x8xf32> {split = ["", ""], closed = [], hf_name = "h.%d.w", valid = array<i64: 8, 8>, rows = 1 : i64, hf_col = 0 : i64, hf_cols = 0 : i64, transposed, decay, init = "normal", std = 2.0e-02 : f64, layout = #lf.layout<[{}, {tp}]>, gradient = #lf.layout<[{}, {tp}], partial sum {dp}>}
lf.chain embed @embed layers [@block] counts [2] head @head

func.func @embed.fwd(%ids: tensor<4x1xi32> {lf.input = "ids"}, %positions: tensor<4xi32> {lf.input = "positions"}) -> tensor<4x1x8xf32> attributes {lf.outputs = 1 : i64} {
  %t = lf.param "embedding" : tensor<32x8xf32>
  %p = lf.embedding %ids, %t {shards = #lf.roles<v = {tp}>} : (tensor<4x1xi32>, tensor<32x8xf32>) -> tensor<4x1x8xf32>
  %x = lf.all_reduce "sum" %p over ["tp"] : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  return %x : tensor<4x1x8xf32>
}
func.func @embed.bwd(%dx: tensor<4x1x8xf32>, %ids: tensor<4x1xi32> {lf.input = "ids"}, %positions: tensor<4xi32> {lf.input = "positions"}) attributes {lf.cotangents = 1 : i64} {
  %d = lf.embedding_grad %ids, %dx {shards = #lf.roles<v = {tp}>} : (tensor<4x1xi32>, tensor<4x1x8xf32>) -> tensor<32x8xf32>
  lf.accumulate %d to "embedding" : tensor<32x8xf32>
  return
}
func.func @block.fwd(%x: tensor<4x1x8xf32>, %positions: tensor<4xi32> {lf.input = "positions"}) -> (tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>) attributes {lf.outputs = 1 : i64} {
  %g = lf.param "norm" : tensor<8xf32>
  %n = lf.rms_norm %x, %g {eps = 1.0e-05 : f64} : (tensor<4x1x8xf32>, tensor<8xf32>) -> tensor<4x1x8xf32>
  %w = lf.param "w" : tensor<8x4xf32>
  %h = lf.matmul "sbh,hf->sbf" %n, %w : (tensor<4x1x8xf32>, tensor<8x4xf32>) -> tensor<4x1x4xf32>
  %a = lf.all_gather %h dim 2 over ["tp"] : tensor<4x1x4xf32> -> tensor<4x1x8xf32>
  %c = lf.all_reduce "sum" %a over ["cp"] : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y = lf.sum %x, %c : (tensor<4x1x8xf32>, tensor<4x1x8xf32>) -> tensor<4x1x8xf32>
  return %y, %n, %x : tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>
}
func.func @block.bwd(%dy: tensor<4x1x8xf32>, %positions: tensor<4xi32> {lf.input = "positions"}, %n: tensor<4x1x8xf32>, %x: tensor<4x1x8xf32>) -> tensor<4x1x8xf32> attributes {lf.cotangents = 1 : i64} {
  %g = lf.param "norm" : tensor<8xf32>
  %w = lf.param "w" : tensor<8x4xf32>
  %dh = lf.slice %dy dim 2 over ["tp"] : tensor<4x1x8xf32> -> tensor<4x1x4xf32>
  %dw = lf.matmul "sbh,sbf->hf" %n, %dh : (tensor<4x1x8xf32>, tensor<4x1x4xf32>) -> tensor<8x4xf32>
  lf.accumulate %dw to "w" : tensor<8x4xf32>
  %pn = lf.matmul "sbf,hf->sbh" %dh, %w : (tensor<4x1x4xf32>, tensor<8x4xf32>) -> tensor<4x1x8xf32>
  %dn = lf.all_reduce "sum" %pn over ["tp"] : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %r, %dg = lf.rms_norm_grad %x, %g, %dn {eps = 1.0e-05 : f64} : (tensor<4x1x8xf32>, tensor<8xf32>, tensor<4x1x8xf32>) -> (tensor<4x1x8xf32>, tensor<8xf32>)
  lf.accumulate %dg to "norm" : tensor<8xf32>
  %dx = lf.sum %dy, %r : (tensor<4x1x8xf32>, tensor<4x1x8xf32>) -> tensor<4x1x8xf32>
  return %dx : tensor<4x1x8xf32>
}
func.func @head.fwd(%x: tensor<4x1x8xf32>, %labels: tensor<4x1xi32> {lf.input = "labels"}) -> (tensor<f32>, tensor<f32>, tensor<4x1x32xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1x8xf32>) attributes {lf.outputs = 2 : i64, lf.partial = ["dp"]} {
  %t = lf.param "embedding" of "embed" : tensor<32x8xf32>
  %l = lf.matmul "sbh,vh->sbv" %x, %t : (tensor<4x1x8xf32>, tensor<32x8xf32>) -> tensor<4x1x32xf32>
  %pm = lf.row_max %l {shards = #lf.roles<v = {tp}>, valid = 60 : i64} : (tensor<4x1x32xf32>) -> tensor<4x1xf32>
  %m = lf.all_reduce "max" %pm over ["tp"] : tensor<4x1xf32> -> tensor<4x1xf32>
  %pz = lf.sum_exp %l, %m {shards = #lf.roles<v = {tp}>, valid = 60 : i64} : (tensor<4x1x32xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %z = lf.all_reduce "sum" %pz over ["tp"] : tensor<4x1xf32> -> tensor<4x1xf32>
  %pt = lf.pick %l, %labels {shards = #lf.roles<v = {tp}>} : (tensor<4x1x32xf32>, tensor<4x1xi32>) -> tensor<4x1xf32>
  %tl = lf.all_reduce "sum" %pt over ["tp"] : tensor<4x1xf32> -> tensor<4x1xf32>
  %nll = lf.nll %z, %m, %tl, %labels : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi32>) -> tensor<4x1xf32>
  %loss = lf.sum_all %nll : (tensor<4x1xf32>) -> tensor<f32>
  %count = lf.count %labels : (tensor<4x1xi32>) -> tensor<f32>
  return %loss, %count, %l, %m, %z, %x : tensor<f32>, tensor<f32>, tensor<4x1x32xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1x8xf32>
}
func.func @head.bwd(%labels: tensor<4x1xi32> {lf.input = "labels"}, %l: tensor<4x1x32xf32>, %m: tensor<4x1xf32>, %z: tensor<4x1xf32>, %x: tensor<4x1x8xf32>) -> tensor<4x1x8xf32> attributes {lf.cotangents = 0 : i64} {
  %t = lf.param "embedding" of "embed" : tensor<32x8xf32>
  %one = lf.fill {value = 1.0 : f64} : () -> tensor<f32>
  %g = lf.broadcast %one : (tensor<f32>) -> tensor<4x1xf32>
  %dl = lf.cross_entropy_grad %l, %m, %z, %labels, %g {shards = #lf.roles<v = {tp}>, valid = 60 : i64} : (tensor<4x1x32xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xi32>, tensor<4x1xf32>) -> tensor<4x1x32xf32>
  %p = lf.matmul "sbv,vh->sbh" %dl, %t : (tensor<4x1x32xf32>, tensor<32x8xf32>) -> tensor<4x1x8xf32>
  %dx = lf.all_reduce "sum" %p over ["tp"] : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %dt = lf.matmul "sbh,sbv->vh" %x, %dl : (tensor<4x1x8xf32>, tensor<4x1x32xf32>) -> tensor<32x8xf32>
  lf.accumulate %dt to "embedding" of "embed" : tensor<32x8xf32>
  return %dx : tensor<4x1x8xf32>
}
