// DEFINE: %{annotated} = lf-opt %S/Inputs/llama.mlir --lf-differentiate --lf-expand-cross-entropy --lf-annotate="dp=2 tp=8 tp-rep=2 sequence-parallel"
// RUN: %{annotated} --lf-propagate | FileCheck %s --check-prefix=LLAMA
// RUN: lf-opt %s --lf-propagate --split-input-file | FileCheck %s

// A layer under TP with SP. P1: the stream's seed reaches the norm, and, upwards, the row-parallel products.
// P2: in a product the weight's claim on tp is stronger than the operand's, whose sequence is then wanted whole.
// LLAMA-LABEL: func.func @decoder.fwd(
// LLAMA:         lf.rms_norm {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>], id = 0 : i64, roles = #lf.roles<b = {dp}, s = {tp_kv, tp_rep}>
// LLAMA:         lf.matmul "sbh,hgrd->sbgrd" {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv}, {tp_rep}, {}]>], id = 1 : i64, roles = #lf.roles<b = {dp}, g = {tp_kv}, r = {tp_rep}>
// A weight that is closed over tp_rep claims no role for it.
// LLAMA:         lf.matmul "sbh,hgd->sbgd" {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv}, {}]>], id = 2 : i64, roles = #lf.roles<b = {dp}, g = {tp_kv}>
// LLAMA:         lf.attention {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv}, {tp_rep}, {}]>, #lf.layout<[{}, {dp}, {tp_kv}, {tp_rep}]>], {{.*}}roles = #lf.roles<b = {dp}, g = {tp_kv}, r = {tp_rep}>
// LLAMA:         lf.matmul "sbgrd,grdh->sbh" {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>], {{.*}}roles = #lf.roles<b = {dp}, g = {tp_kv}, r = {tp_rep}>
// LLAMA:         lf.sum {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>]
// LLAMA:         lf.glu {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv, tp_rep}]>]
// P3: arguments of the backward live where the forward's values do; an adjoint has the roles of its op; a contribution
// has no home.
// LLAMA-LABEL: func.func @decoder.bwd(
// LLAMA-SAME:    %arg0: tensor<16x4x32xf32> {lf.layout = #lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>, lf.link = "cotangent:14.0"}
// LLAMA-SAME:    %arg2: tensor<16x4x48xf32> {lf.layout = #lf.layout<[{}, {dp}, {tp_kv, tp_rep}]>}
// LLAMA:         lf.matmul "sbf,sbh->fh" {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {}], partial sum {dp}>], links = ["gradient:decoder.down"], of = 13 : i64, roles = #lf.roles<b = {dp}, f = {tp_kv, tp_rep}>
// LLAMA:         lf.matmul "sbf,hf->sbh" {{.*}}homes = [unit], links = ["contribution"]
// P4: dk and dv merge into gradients and sums, so they stay partial over the repeating part of tp, through rope as well;
// what enters a norm is finished.
// LLAMA:         lf.sum {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>], links = ["cotangent:9.0"]
// LLAMA:         lf.attention_grad {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv}, {tp_rep}, {}]>, #lf.layout<[{}, {dp}, {tp_kv}, {}], partial sum {tp_rep}>, #lf.layout<[{}, {dp}, {tp_kv}, {}], partial sum {tp_rep}>]
// LLAMA:         lf.rope {{.*}}homes = [#lf.layout<[{}, {dp}, {tp_kv}, {}], partial sum {tp_rep}>], {{.*}}links = ["cotangent:2.0"], of = 5 : i64, roles = #lf.roles<b = {dp}, g = {tp_kv}>
// LLAMA:         lf.sum {{.*}}homes = [#lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>], links = ["cotangent:0.0"]
// The split vocabulary: its factor is in the roles, max and sums are finished, loss scalars stay partial.
// LLAMA-LABEL: func.func @head.fwd(
// LLAMA:         lf.row_max {{.*}}homes = [#lf.layout<[{}, {dp}]>], id = 2 : i64, roles = #lf.roles<b = {dp}, v = {tp_kv, tp_rep}>
// LLAMA:         lf.sum_all {{.*}}homes = [#lf.layout<[], partial sum {dp}>]
// LLAMA:         lf.count {{.*}}homes = [#lf.layout<[], partial sum {dp}>]
// The adjoint of cross entropy has the roles of row_max.
// LLAMA-LABEL: func.func @head.bwd(
// LLAMA:         lf.cross_entropy_grad {{.*}}of = 2 : i64, roles = #lf.roles<b = {dp}, v = {tp_kv, tp_rep}>

// P1 down and up: elementwise neighbours of one seeded value live as it does.
// CHECK-LABEL: func.func @chain.fwd(
// CHECK:         lf.activation {{.*}}homes = [#lf.layout<[{tp}, {dp}, {}]>], {{.*}}kind = "relu", roles = #lf.roles<b = {dp}, s = {tp}>
// CHECK:         lf.activation {{.*}}homes = [#lf.layout<[{tp}, {dp}, {}]>], {{.*}}kind = "silu"
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
func.func @chain.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {dp}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %a = lf.activation %x {id = 0 : i64, kind = "relu"} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  %b = lf.activation %a {id = 1 : i64, kind = "silu", seed = #lf.layout<[{tp}, {dp}, {}]>} : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %b : tensor<8x2x4xf32>
}

// -----

// A blocked factor is whole whatever claims it: the norm wants h whole.
// CHECK-LABEL: func.func @blocked.fwd(
// CHECK:         lf.rms_norm {{.*}}homes = [#lf.layout<[{}, {dp}, {}]>], {{.*}}roles = #lf.roles<b = {dp}>
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
lf.declare "blocked" "g" : tensor<4xf32> {split = [""], closed = [], hf_name = "g", valid = array<i64: 4>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}]>}
func.func @blocked.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {dp}, {tp}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %g = lf.param "g" : tensor<4xf32>
  %y = lf.rms_norm %x, %g {eps = 1.0e-5 : f64, id = 0 : i64} : (tensor<8x2x4xf32>, tensor<4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// P2: a pin is stronger than a weight.
// CHECK-LABEL: func.func @pinned.fwd(
// CHECK:         lf.matmul {{.*}}roles = #lf.roles<b = {dp}, s = {tp}>
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
lf.declare "pinned" "w" : tensor<4x4xf32> {split = ["", ""], closed = [], hf_name = "w", valid = array<i64: 4, 4>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {tp}]>}
func.func @pinned.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{}, {dp}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4x4xf32>
  %y = lf.matmul "sbh,hf->sbf" %x, %w {id = 0 : i64, pin = #lf.roles<s = {tp}>} : (tensor<8x2x4xf32>, tensor<4x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}

// -----

// P2: a seeded operand is stronger than one that is not, so the free one moves.
// CHECK-LABEL: func.func @seeded.fwd(
// CHECK:         lf.glu {{.*}}roles = #lf.roles<b = {dp}, s = {tp}>
lf.mesh axes ["dp", "tp"] sizes [2, 2] names {}
lf.declare "seeded" "w" : tensor<4x4xf32> {split = ["", ""], closed = [], hf_name = "w", valid = array<i64: 4, 4>, rows = 0, hf_col = 0, hf_cols = 1, init = "normal", std = 0.02 : f64, layout = #lf.layout<[{}, {tp}]>}
func.func @seeded.fwd(%x: tensor<8x2x4xf32> {lf.layout = #lf.layout<[{tp}, {dp}, {}]>}) -> tensor<8x2x4xf32> attributes {lf.outputs = 1 : i64} {
  %w = lf.param "w" : tensor<4x4xf32>
  %u = lf.matmul "sbh,hf->sbf" %x, %w {id = 0 : i64} : (tensor<8x2x4xf32>, tensor<4x4xf32>) -> tensor<8x2x4xf32>
  %y = lf.glu %x, %u {id = 1 : i64, kind = "silu"} : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return %y : tensor<8x2x4xf32>
}
