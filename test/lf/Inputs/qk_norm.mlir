// The layer of llama.mlir with a norm on each head of queries and keys.
!act = tensor<16x4x32xf32>
!q = tensor<16x4x4x2x4xf32>
!kv = tensor<16x4x4x4xf32>
!ffn = tensor<16x4x48xf32>
module {
  lf.declare "decoder" "input_norm" : tensor<32xf32> {split = [""], closed = [], hf_name = "decoder.input_norm", valid = array<i64: 32>, rows = 0, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "q" : tensor<32x4x2x4xf32> {split = ["", "tp_kv", "tp_rep", ""], closed = [], hf_name = "decoder.q", valid = array<i64: 32, 4, 2, 4>, rows = 1, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "k" : tensor<32x4x4xf32> {split = ["", "tp_kv", ""], closed = ["tp_rep"], hf_name = "decoder.k", valid = array<i64: 32, 4, 4>, rows = 1, hf_col = 0, hf_cols = 16, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "v" : tensor<32x4x4xf32> {split = ["", "tp_kv", ""], closed = ["tp_rep"], hf_name = "decoder.v", valid = array<i64: 32, 4, 4>, rows = 1, hf_col = 0, hf_cols = 16, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "o" : tensor<4x2x4x32xf32> {split = ["tp_kv", "tp_rep", "", ""], closed = [], hf_name = "decoder.o", valid = array<i64: 4, 2, 4, 32>, rows = 3, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "q_norm" : tensor<4xf32> {split = [""], closed = [], hf_name = "decoder.q_norm", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 4, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "k_norm" : tensor<4xf32> {split = [""], closed = [], hf_name = "decoder.k_norm", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 4, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "post_norm" : tensor<32xf32> {split = [""], closed = [], hf_name = "decoder.post_norm", valid = array<i64: 32>, rows = 0, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "gate" : tensor<32x48xf32> {split = ["", "tp"], closed = [], hf_name = "decoder.gate", valid = array<i64: 32, 48>, rows = 1, hf_col = 0, hf_cols = 48, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "up" : tensor<32x48xf32> {split = ["", "tp"], closed = [], hf_name = "decoder.up", valid = array<i64: 32, 48>, rows = 1, hf_col = 0, hf_cols = 48, init = "normal", std = 0.02 : f64}
  lf.declare "decoder" "down" : tensor<48x32xf32> {split = ["tp", ""], closed = [], hf_name = "decoder.down", valid = array<i64: 48, 32>, rows = 1, hf_col = 0, hf_cols = 32, init = "normal", std = 0.02 : f64}
  func.func @decoder(%x: !act loc("x"), %pos: tensor<16xi32> {lf.input = "positions"} loc("positions")) -> !act {
    %g1 = lf.param "input_norm" : tensor<32xf32>
    %n1 = lf.rms_norm %x, %g1 {eps = 1.0e-5 : f64} : (!act, tensor<32xf32>) -> !act loc("input_norm")
    %wq = lf.param "q" : tensor<32x4x2x4xf32>
    %wk = lf.param "k" : tensor<32x4x4xf32>
    %wv = lf.param "v" : tensor<32x4x4xf32>
    %q = lf.matmul "sbh,hgrd->sbgrd" %n1, %wq : (!act, tensor<32x4x2x4xf32>) -> !q loc("q")
    %k = lf.matmul "sbh,hgd->sbgd" %n1, %wk : (!act, tensor<32x4x4xf32>) -> !kv loc("k")
    %v = lf.matmul "sbh,hgd->sbgd" %n1, %wv : (!act, tensor<32x4x4xf32>) -> !kv loc("v")
    %gq = lf.param "q_norm" : tensor<4xf32>
    %gk = lf.param "k_norm" : tensor<4xf32>
    %qn = lf.rms_norm %q, %gq {eps = 1.0e-5 : f64} : (!q, tensor<4xf32>) -> !q loc("q_norm")
    %kn = lf.rms_norm %k, %gk {eps = 1.0e-5 : f64} : (!kv, tensor<4xf32>) -> !kv loc("k_norm")
    %qr = lf.rope %qn, %pos {inv_freq = array<f64: 1.0, 0.01>} : (!q, tensor<16xi32>) -> !q loc("q_rope")
    %kr = lf.rope %kn, %pos {inv_freq = array<f64: 1.0, 0.01>} : (!kv, tensor<16xi32>) -> !kv loc("k_rope")
    %o, %lse = lf.attention %qr, %kr, %v, %pos, %pos {scale = 0.5 : f64} : (!q, !kv, !kv, tensor<16xi32>, tensor<16xi32>) -> (!q, tensor<16x4x4x2xf32>) loc("attention")
    %wo = lf.param "o" : tensor<4x2x4x32xf32>
    %p = lf.matmul "sbgrd,grdh->sbh" %o, %wo : (!q, tensor<4x2x4x32xf32>) -> !act loc("o")
    %r = lf.sum %x, %p : (!act, !act) -> !act loc("attention_residual")
    %g2 = lf.param "post_norm" : tensor<32xf32>
    %n2 = lf.rms_norm %r, %g2 {eps = 1.0e-5 : f64} : (!act, tensor<32xf32>) -> !act loc("post_norm")
    %wg = lf.param "gate" : tensor<32x48xf32>
    %wu = lf.param "up" : tensor<32x48xf32>
    %wd = lf.param "down" : tensor<48x32xf32>
    %gate = lf.matmul "sbh,hf->sbf" %n2, %wg : (!act, tensor<32x48xf32>) -> !ffn loc("gate")
    %up = lf.matmul "sbh,hf->sbf" %n2, %wu : (!act, tensor<32x48xf32>) -> !ffn loc("up")
    %a = lf.glu %gate, %up {kind = "silu"} : (!ffn, !ffn) -> !ffn loc("glu")
    %m = lf.matmul "sbf,fh->sbh" %a, %wd : (!ffn, tensor<48x32xf32>) -> !act loc("down")
    %y = lf.sum %r, %m : (!act, !act) -> !act loc("mlp_residual")
    return %y : !act
  }
}
