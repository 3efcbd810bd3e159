// DEFINE: %{train} = --lf-differentiate --lf-expand-cross-entropy
// DEFINE: %{partition} = --lf-propagate --lf-partition --lf-verify-partitioned
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2 tp=2 sequence-parallel" %{partition} | FileCheck %s --check-prefixes=LAYER,HEAD --implicit-check-not="homes =" --implicit-check-not="roles =" --implicit-check-not="seed =" --implicit-check-not="links =" --implicit-check-not="lf.layout ="
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="dp=2 tp=8 tp-rep=2" %{partition} | FileCheck %s --check-prefix=TP
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="dp=2 tp=8 tp-rep=2 sequence-parallel" %{partition} | FileCheck %s --check-prefix=SP
// RUN: lf-opt %S/Inputs/tied.mlir %{train} --lf-annotate="dp=2 tp=2" %{partition} | FileCheck %s --check-prefix=TIED

// Local shapes: the stream over dp and tp, heads and the feed-forward dim over tp; parameters in their storage layout
// (R4). The saved values follow the output: products' inputs as shards, attention's as heads (R3).
// LAYER-LABEL: func.func @decoder.fwd(
// LAYER-SAME:    [[X:%[^:]+]]: tensor<8x2x32xf32>, [[POS:%[^:]+]]: tensor<16xi32> {lf.input = "positions"})
// LAYER-SAME:    attributes {lf.outputs = 1 : i64}
// LAYER:         [[N1:%.+]] = lf.rms_norm [[X]], %{{.*}} : (tensor<8x2x32xf32>, tensor<32xf32>) -> tensor<8x2x32xf32>
// LAYER:         [[WQ:%.+]] = lf.param "q" : tensor<32x2x2x4xf32>
// LAYER:         [[N1_WHOLE:%.+]] = lf.all_gather [[N1]] dim 0 over ["tp"] {reason = "input_norm: [{tp}, {dp}, {}] -> [{}, {dp}, {}], operand of matmul \22q\22 (decoder)"}
// LAYER-NEXT:    [[Q:%.+]] = lf.matmul "sbh,hgrd->sbgrd" [[N1_WHOLE]], [[WQ]] :
// LAYER-NEXT:    [[K:%.+]] = lf.matmul "sbh,hgd->sbgd" [[N1_WHOLE]],
// LAYER-NEXT:    [[V:%.+]] = lf.matmul "sbh,hgd->sbgd" [[N1_WHOLE]],
// LAYER-NEXT:    [[QR:%.+]] = lf.rope [[Q]], [[POS]]
// LAYER-NEXT:    [[KR:%.+]] = lf.rope [[K]], [[POS]]
// LAYER-NEXT:    [[O:%.+]], [[LSE:%.+]] = lf.attention [[QR]], [[KR]], [[V]], [[POS]], [[POS]]
// LAYER:         [[P:%.+]] = lf.matmul "sbgrd,grdh->sbh" [[O]],
// LAYER-NEXT:    [[P_SHARD:%.+]] = lf.reduce_scatter "sum" [[P]] dim 0 over ["tp"] {reason = "o: [{}, {dp}, {}] sum<tp> -> [{tp}, {dp}, {}], result of matmul \22o\22 (decoder)"}
// LAYER-NEXT:    [[R:%.+]] = lf.sum [[X]], [[P_SHARD]] :
// LAYER:         [[N2:%.+]] = lf.rms_norm [[R]],
// LAYER:         [[GATE:%.+]] = lf.matmul "sbh,hf->sbf"
// LAYER-NEXT:    [[UP:%.+]] = lf.matmul "sbh,hf->sbf"
// LAYER-NEXT:    [[A:%.+]] = lf.glu [[GATE]], [[UP]] {kind = "silu"} : (tensor<16x2x24xf32>, tensor<16x2x24xf32>) -> tensor<16x2x24xf32>
// LAYER:         [[Y:%.+]] = lf.sum [[R]],
// LAYER-NEXT:    return [[Y]], [[A]], [[GATE]], [[UP]], [[N2]], [[R]], [[O]], [[QR]], [[KR]], [[V]], [[LSE]], [[N1]], [[X]] :

// R1 in the backward: the cotangent is gathered once for dgrad and wgrad. R2: three contributions, one conversion.
// LAYER-LABEL: func.func @decoder.bwd(
// LAYER-SAME:    [[DY:%[^:]+]]: tensor<8x2x32xf32>, %{{.*}} attributes {lf.cotangents = 1 : i64}
// LAYER:         [[DY_WHOLE:%.+]] = lf.all_gather [[DY]] dim 0
// LAYER-NEXT:    lf.matmul "sbh,fh->sbf" [[DY_WHOLE]],
// LAYER-NEXT:    [[DDOWN:%.+]] = lf.matmul "sbf,sbh->fh" %{{.*}}, [[DY_WHOLE]]
// LAYER-NEXT:    lf.accumulate [[DDOWN]] to "down" {layout = #lf.layout<[{tp}, {}], partial sum {dp}>} : tensor<24x32xf32>
// LAYER:         [[DN1:%.+]] = lf.sum %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}} : (tensor<16x2x32xf32>, tensor<16x2x32xf32>, tensor<16x2x32xf32>)
// LAYER-NEXT:    lf.reduce_scatter "sum" [[DN1]] dim 0 over ["tp"] {reason = "input_norm: [{}, {dp}, {}] sum<tp> -> [{tp}, {dp}, {}], sum"}

// Kernels of the vocabulary know their range; the loss sum and the count leave partial over dp, together.
// HEAD-LABEL:  func.func @head.fwd(
// HEAD-SAME:     attributes {lf.outputs = 2 : i64, lf.partial = ["dp"]}
// HEAD:          lf.row_max %{{.*}} {shards = #lf.roles<v = {tp}>, valid = 64 : i64} : (tensor<16x2x32xf32>) -> tensor<16x2xf32>
// HEAD:          lf.sum_exp %{{.*}} {shards = #lf.roles<v = {tp}>, valid = 64 : i64}
// HEAD:          lf.pick %{{.*}} {shards = #lf.roles<v = {tp}>}
// HEAD:          lf.nll %{{[^{]*}} :
// HEAD-LABEL:  func.func @head.bwd(
// HEAD:          lf.cross_entropy_grad {{.*}} {shards = #lf.roles<v = {tp}>, valid = 64 : i64}

// Gradients are partial: over dp all; wk and wv over the repeating part of tp; q/k norm over tp always; the norms of the
// stream over tp under SP only.
// TP: lf.declare "decoder" "input_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp}>
// TP: lf.declare "decoder" "q" {{.*}}gradient = #lf.layout<[{}, {tp_kv}, {tp_rep}, {}], partial sum {dp}>
// TP: lf.declare "decoder" "k" {{.*}}gradient = #lf.layout<[{}, {tp_kv}, {}], partial sum {dp, tp_rep}>
// TP: lf.declare "decoder" "v" {{.*}}gradient = #lf.layout<[{}, {tp_kv}, {}], partial sum {dp, tp_rep}>
// TP: lf.declare "decoder" "o" {{.*}}gradient = #lf.layout<[{tp_kv}, {tp_rep}, {}, {}], partial sum {dp}>
// TP: lf.declare "decoder" "q_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp, tp_kv, tp_rep}>
// TP: lf.declare "decoder" "k_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp, tp_kv, tp_rep}>
// TP: lf.declare "decoder" "post_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp}>
// TP: lf.declare "decoder" "gate" {{.*}}gradient = #lf.layout<[{}, {tp_kv, tp_rep}], partial sum {dp}>
// TP: lf.declare "decoder" "down" {{.*}}gradient = #lf.layout<[{tp_kv, tp_rep}, {}], partial sum {dp}>

// SP: lf.declare "decoder" "input_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp, tp_kv, tp_rep}>
// SP: lf.declare "decoder" "q" {{.*}}gradient = #lf.layout<[{}, {tp_kv}, {tp_rep}, {}], partial sum {dp}>
// SP: lf.declare "decoder" "k" {{.*}}gradient = #lf.layout<[{}, {tp_kv}, {}], partial sum {dp, tp_rep}>
// SP: lf.declare "decoder" "q_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp, tp_kv, tp_rep}>
// SP: lf.declare "decoder" "post_norm" {{.*}}gradient = #lf.layout<[{}], partial sum {dp, tp_kv, tp_rep}>
// SP: lf.declare "decoder" "gate" {{.*}}gradient = #lf.layout<[{}, {tp_kv, tp_rep}], partial sum {dp}>

// The two contributions of a tied table accumulate in one layout; padded rows are part of the shape.
// TIED: lf.declare "embed" "embedding" : tensor<64x32xf32> {{.*}}gradient = #lf.layout<[{tp}, {}], partial sum {dp}>
// TIED: lf.accumulate {{.*}} to "embedding" {layout = #lf.layout<[{tp}, {}], partial sum {dp}>} : tensor<32x32xf32>
// TIED: lf.accumulate {{.*}} to "embedding" of "embed" {layout = #lf.layout<[{tp}, {}], partial sum {dp}>} : tensor<32x32xf32>
