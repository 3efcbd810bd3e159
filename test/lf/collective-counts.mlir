// Every collective of a plan, in order: lines of one prefix are all there are, since any other one is refused by
// --implicit-check-not. These are the counts that the layout rules promise:
//
//   plan                                 forward        backward
//   DP                                   -              -
//   TP, also kv heads < tp, q/k norm     2 AR           2 AR
//   TP+SP, also those, tied, padded      2 AG 2 RS      4 AG 2 RS
//   TP     embedding | head              1 AR | 3 AR    - | 1 AR
//   TP+SP  embedding | head              1 RS | 1 AG 3 AR    1 AG | 1 AG 1 RS
//
// DEFINE: %{train} = --lf-differentiate --lf-expand-cross-entropy
// DEFINE: %{partition} = --lf-propagate --lf-partition --lf-verify-partitioned
// DEFINE: %{exactly} = --implicit-check-not=lf.all_ --implicit-check-not=lf.reduce_ --implicit-check-not=lf.slice --implicit-check-not=lf.mask

// Data parallelism alone sends nothing inside a function; gradients are left partial over dp.
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2" %{partition} | FileCheck %s %{exactly} --check-prefix=DP
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="dp=2" %{partition} | FileCheck %s %{exactly} --check-prefix=DP-LAYER
// RUN: lf-opt %S/Inputs/tied.mlir %{train} --lf-annotate="dp=2" %{partition} | FileCheck %s %{exactly} --check-prefix=DP-ENDS

// Tensor parallelism: tp divides the kv heads, or has a part that repeats them; q/k norm; tied and padded ends.
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2 tp=2" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=TP-EMBED,TP-LAYER,TP-HEAD
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="tp=4" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=TP-EMBED,TP-LAYER,TP-HEAD
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2 tp=8 tp-rep=2" %{partition} | FileCheck %s %{exactly} -DTP='"tp_kv", "tp_rep"' --check-prefixes=TP-EMBED,TP-LAYER,TP-HEAD
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="dp=2 tp=4" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefix=TP-LAYER
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="tp=8 tp-rep=2" %{partition} | FileCheck %s %{exactly} -DTP='"tp_kv", "tp_rep"' --check-prefix=TP-LAYER
// RUN: lf-opt %S/Inputs/tied.mlir %{train} --lf-annotate="dp=2 tp=2" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=TP-EMBED,TP-HEAD

// The same with sequence parallelism.
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2 tp=2 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=SP-EMBED,SP-LAYER,SP-HEAD
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="tp=4 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=SP-EMBED,SP-LAYER,SP-HEAD
// RUN: lf-opt %S/Inputs/llama.mlir %{train} --lf-annotate="dp=2 tp=8 tp-rep=2 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp_kv", "tp_rep"' --check-prefixes=SP-EMBED,SP-LAYER,SP-HEAD
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="dp=2 tp=4 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefix=SP-LAYER
// RUN: lf-opt %S/Inputs/qk_norm.mlir %{train} --lf-annotate="tp=8 tp-rep=2 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp_kv", "tp_rep"' --check-prefix=SP-LAYER
// RUN: lf-opt %S/Inputs/tied.mlir %{train} --lf-annotate="dp=2 tp=2 sequence-parallel" %{partition} | FileCheck %s %{exactly} -DTP='"tp"' --check-prefixes=SP-EMBED,SP-HEAD

// DP-LABEL: @embed.fwd
// DP-LABEL: @embed.bwd
// DP-LABEL: @decoder.fwd
// DP-LABEL: @decoder.bwd
// DP-LABEL: @head.fwd
// DP-LABEL: @head.bwd

// DP-LAYER-LABEL: @decoder.fwd
// DP-LAYER-LABEL: @decoder.bwd

// DP-ENDS-LABEL: @embed.fwd
// DP-ENDS-LABEL: @embed.bwd
// DP-ENDS-LABEL: @head.fwd
// DP-ENDS-LABEL: @head.bwd

// TP-EMBED-LABEL: @embed.fwd
// TP-EMBED: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "embedding: {{.*}}, result of embedding
// TP-EMBED-LABEL: @embed.bwd

// TP-LAYER-LABEL: @decoder.fwd
// TP-LAYER: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "o: {{.*}}, result of matmul
// TP-LAYER: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "down: {{.*}}, result of matmul
// TP-LAYER-LABEL: @decoder.bwd
// TP-LAYER: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "post_norm: {{.*}}, sum"}
// TP-LAYER: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "input_norm: {{.*}}, sum"}

// TP-HEAD-LABEL: @head.fwd
// TP-HEAD: lf.all_reduce "max" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of row_max
// TP-HEAD: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of sum_exp
// TP-HEAD: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of pick
// TP-HEAD-LABEL: @head.bwd
// TP-HEAD: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "logits: {{.*}}, result of matmul

// SP-EMBED-LABEL: @embed.fwd
// SP-EMBED: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "embedding: {{.*}}, result of embedding
// SP-EMBED-LABEL: @embed.bwd
// SP-EMBED: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "embedding: {{.*}}, operand of embedding_grad

// SP-LAYER-LABEL: @decoder.fwd
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "input_norm: {{.*}}, operand of matmul \22q\22
// SP-LAYER: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "o: {{.*}}, result of matmul
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "post_norm: {{.*}}, operand of matmul \22gate\22
// SP-LAYER: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "down: {{.*}}, result of matmul
// SP-LAYER-LABEL: @decoder.bwd
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "mlp_residual: {{.*}}, operand of matmul \22down\22
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "post_norm: {{.*}}, operand of matmul \22up\22
// SP-LAYER: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "post_norm: {{.*}}, sum"}
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "attention_residual: {{.*}}, operand of matmul \22o\22
// SP-LAYER: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "input_norm: {{.*}}, operand of matmul \22v\22
// SP-LAYER: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "input_norm: {{.*}}, sum"}

// SP-HEAD-LABEL: @head.fwd
// SP-HEAD: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "final_norm: {{.*}}, operand of matmul \22logits\22
// SP-HEAD: lf.all_reduce "max" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of row_max
// SP-HEAD: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of sum_exp
// SP-HEAD: lf.all_reduce "sum" %{{.*}} over {{.}}[[TP]]] {reason = "loss: {{.*}}, result of pick
// SP-HEAD-LABEL: @head.bwd
// SP-HEAD: lf.reduce_scatter "sum" %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "logits: {{.*}}, result of matmul
// SP-HEAD: lf.all_gather %{{.*}} dim 0 over {{.}}[[TP]]] {reason = "final_norm: {{.*}}, operand of matmul \22logits\22
