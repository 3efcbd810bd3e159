// An embedding whose table is the head too, with a vocabulary of 61 padded to 64.
!act = tensor<16x4x32xf32>
module {
  lf.declare "embed" "embedding" : tensor<64x32xf32> {split = ["tp", ""], closed = [], hf_name = "embed.embedding", valid = array<i64: 61, 32>, rows = 1, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  lf.declare "head" "final_norm" : tensor<32xf32> {split = [""], closed = [], hf_name = "head.final_norm", valid = array<i64: 32>, rows = 0, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  func.func @embed(%ids: tensor<16x4xi32> {lf.input = "ids"}, %pos: tensor<16xi32> {lf.input = "positions"}) -> !act {
    %table = lf.param "embedding" : tensor<64x32xf32> loc("embedding")
    %x = lf.embedding %ids, %table : (tensor<16x4xi32>, tensor<64x32xf32>) -> !act loc("embedding")
    return %x : !act
  }
  func.func @head(%x: !act loc("x"), %labels: tensor<16x4xi32> {lf.input = "labels"} loc("labels")) -> (tensor<f32>, tensor<f32>) {
    %g = lf.param "final_norm" : tensor<32xf32>
    %n = lf.rms_norm %x, %g {eps = 1.0e-5 : f64} : (!act, tensor<32xf32>) -> !act loc("final_norm")
    %wh = lf.param "embedding" of "embed" : tensor<64x32xf32> loc("embedding")
    %logits = lf.matmul "sbh,vh->sbv" %n, %wh : (!act, tensor<64x32xf32>) -> tensor<16x4x64xf32> loc("logits")
    %nll, %max, %sum_exp = lf.cross_entropy %logits, %labels {valid = 61 : i64} : (tensor<16x4x64xf32>, tensor<16x4xi32>) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>) loc("loss")
    %loss_sum = lf.sum_all %nll : (tensor<16x4xf32>) -> tensor<f32> loc("loss_sum")
    %count = lf.count %labels : (tensor<16x4xi32>) -> tensor<f32> loc("count")
    return %loss_sum, %count : tensor<f32>, tensor<f32>
  }
}
