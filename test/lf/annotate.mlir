// DEFINE: %{train} = lf-opt %S/Inputs/llama.mlir --lf-differentiate --lf-expand-cross-entropy
// RUN: %{train} --lf-annotate="pp=2 dp=2 tp=8 tp-rep=2 sequence-parallel" | FileCheck %s --check-prefix=PARTS
// RUN: %{train} --lf-annotate="dp=2 tp=4" | FileCheck %s --check-prefix=TP
// RUN: %{train} --lf-annotate | FileCheck %s --check-prefix=ONE
// RUN: lf-opt %s --lf-annotate="dp=2 tp=2 sequence-parallel" | FileCheck %s --check-prefix=KINDS

// tp has two parts: one splits kv heads, the other repeats them, and both together split all else.
// PARTS:       lf.mesh axes ["pp", "dp", "cp", "tp_kv", "tp_rep"] sizes [2, 2, 1, 4, 2] names {cp = ["cp"], dp = ["dp"], pp = ["pp"], tp = ["tp_kv", "tp_rep"]}
// PARTS:       lf.declare "embed" "embedding" {{.*}}layout = #lf.layout<[{tp_kv, tp_rep}, {}]>
// PARTS:       lf.declare "decoder" "input_norm" {{.*}}layout = #lf.layout<[{}]>
// PARTS:       lf.declare "decoder" "q" {{.*}}layout = #lf.layout<[{}, {tp_kv}, {tp_rep}, {}]>
// PARTS:       lf.declare "decoder" "k" {{.*}}layout = #lf.layout<[{}, {tp_kv}, {}], closed {tp_rep}>
// PARTS:       lf.declare "decoder" "v" {{.*}}layout = #lf.layout<[{}, {tp_kv}, {}], closed {tp_rep}>
// PARTS:       lf.declare "decoder" "o" {{.*}}layout = #lf.layout<[{tp_kv}, {tp_rep}, {}, {}]>
// PARTS:       lf.declare "decoder" "gate" {{.*}}layout = #lf.layout<[{}, {tp_kv, tp_rep}]>
// PARTS:       lf.declare "decoder" "down" {{.*}}layout = #lf.layout<[{tp_kv, tp_rep}, {}]>
// PARTS:       lf.declare "head" "head" {{.*}}layout = #lf.layout<[{}, {tp_kv, tp_rep}]>

// The stream at every boundary; ids and labels over dp; positions whole. The backward is not annotated (P3).
// PARTS-LABEL: func.func @embed.fwd(
// PARTS-SAME:    {lf.input = "ids", lf.layout = #lf.layout<[{}, {dp}]>}, %{{.*}}: tensor<16xi32> {lf.input = "positions", lf.layout = #lf.layout<[{}]>})
// PARTS:         lf.embedding {{.*}}seed = #lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>
// PARTS-LABEL: func.func @embed.bwd(
// PARTS-NOT:     {{lf\.layout|seed}}
// PARTS-LABEL: func.func @decoder.fwd(
// PARTS-SAME:    %{{.*}}: tensor<16x4x32xf32> {lf.layout = #lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>}, %{{.*}}: tensor<16xi32> {lf.input = "positions", lf.layout = #lf.layout<[{}]>})
// PARTS-NOT:     seed
// PARTS:         [[Y:%.+]] = lf.sum {{.*}}seed = #lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>
// PARTS-NOT:     seed
// PARTS:         return [[Y]],
// PARTS-LABEL: func.func @decoder.bwd(
// PARTS-NOT:     {{lf\.layout|seed}}
// PARTS-LABEL: func.func @head.fwd(
// PARTS-SAME:    {lf.layout = #lf.layout<[{tp_kv, tp_rep}, {dp}, {}]>}, %{{.*}}: tensor<16x4xi32> {lf.input = "labels", lf.layout = #lf.layout<[{}, {dp}]>})
// PARTS-NOT:     seed

// Without a repeating part tp is one axis, also where a declaration says tp_kv; without SP the sequence is whole.
// TP:          lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 2, 1, 4] names {cp = ["cp"], dp = ["dp"], pp = ["pp"], tp = ["tp"]}
// TP:          lf.declare "decoder" "q" {{.*}}layout = #lf.layout<[{}, {tp}, {}, {}]>
// TP:          lf.declare "decoder" "k" {{.*}}layout = #lf.layout<[{}, {tp}, {}]>
// TP-LABEL:    func.func @decoder.fwd(
// TP-SAME:       {lf.layout = #lf.layout<[{}, {dp}, {}]>}
// TP:            lf.sum {{.*}}seed = #lf.layout<[{}, {dp}, {}]>

// Axes of size 1 stand in the mesh, but in no layout.
// ONE:         lf.mesh axes ["pp", "dp", "cp", "tp"] sizes [1, 1, 1, 1]
// ONE-NOT:     layout<{{[^>]*(dp|tp|cp|pp)}}
// ONE:         func.func @decoder.fwd(%{{.*}}: tensor<16x4x32xf32> {lf.layout = #lf.layout<[{}, {}, {}]>}
// ONE-NOT:     layout<{{[^>]*(dp|tp|cp|pp)}}
// ONE:         func.func @head.bwd

// Only the outputs of a body are seeded, not what it saves; a scalar output is not part of the stream.
// KINDS-LABEL: func.func @kinds.fwd(
// KINDS:         lf.activation {{.*}}kind = "relu", seed = #lf.layout<[{tp}, {dp}, {}]>
// KINDS-NEXT:    lf.activation %{{.*}} {id = 1 : i64, kind = "silu"}
// KINDS-NEXT:    lf.sum_all %{{.*}} {id = 2 : i64}
func.func @kinds.fwd(%x: tensor<16x4x32xf32>) -> (tensor<16x4x32xf32>, tensor<f32>, tensor<16x4x32xf32>) attributes {lf.outputs = 2 : i64} {
  %y = lf.activation %x {id = 0 : i64, kind = "relu"} : (tensor<16x4x32xf32>) -> tensor<16x4x32xf32>
  %saved = lf.activation %x {id = 1 : i64, kind = "silu"} : (tensor<16x4x32xf32>) -> tensor<16x4x32xf32>
  %s = lf.sum_all %saved {id = 2 : i64} : (tensor<16x4x32xf32>) -> tensor<f32>
  return %y, %s, %saved : tensor<16x4x32xf32>, tensor<f32>, tensor<16x4x32xf32>
}
// A function that lf-differentiate did not make is left alone.
// KINDS-LABEL: func.func @other(
// KINDS-SAME:    %{{[^{]*}}: tensor<16x4x32xf32>)
// KINDS-NOT:     seed
func.func @other(%x: tensor<16x4x32xf32>) -> tensor<16x4x32xf32> {
  %y = lf.activation %x {kind = "relu"} : (tensor<16x4x32xf32>) -> tensor<16x4x32xf32>
  return %y : tensor<16x4x32xf32>
}
