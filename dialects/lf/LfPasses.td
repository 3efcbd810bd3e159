//===- LfPasses.td - The passes on lf --------------------------*- tablegen -*-===//
//
// In the order in which the pipelines run them.
//
//===----------------------------------------------------------------------===//

#ifndef LF_PASSES_TD
#define LF_PASSES_TD

include "mlir/Pass/PassBase.td"

class Lf_Pass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mlir::lf::LfDialect", "::mlir::func::FuncDialect"];
}

def LfDifferentiate : Lf_Pass<"lf-differentiate"> {
  let summary = "replace each layer body by a forward and a backward function";
  let description = [{
    `@decoder` becomes `@decoder.fwd`, which also returns what the backward needs, and `@decoder.bwd`, which takes the
    cotangents of the outputs, the integer inputs and the saved values, returns the cotangents of the real inputs and
    accumulates the gradients of parameters. One n-ary `lf.sum` for each value with several uses (B2); cotangents that
    nobody needs are gone (B3). `id`, `of` and `links` tie the two together.

    ```mlir
    func.func @block(%x: t) -> t {                  func.func @block.fwd(%x: t) -> (t, t) attributes {lf.outputs = 1}
      %w = lf.param "w" : w                           ...  return %y, %x
      %y = lf.matmul "sbh,hf->sbf" %x, %w     =>    func.func @block.bwd(%dy: t, %x: t) -> t attributes {lf.cotangents = 1}
      return %y                                       %w  = lf.param "w" : w
    }                                                 %dx = lf.matmul "sbf,hf->sbh" %dy, %w {of = 0, links = ["cotangent:arg0"]}
                                                      %dw = lf.matmul "sbh,sbf->hf" %x, %dy {of = 0, links = ["gradient:block.w"]}
                                                      lf.accumulate %dw to "w"
                                                      return %dx
    ```
  }];
}

def LfExpandCrossEntropy : Lf_Pass<"lf-expand-cross-entropy"> {
  let summary = "make row_max, sum_exp, pick and nll of cross_entropy";
  let description = [{
    So that a split vocabulary needs no rule of its own: the results of row_max, sum_exp and pick become partial over the
    axes of the vocabulary by the ordinary factor rule. The adjoint then names row_max as its primal op.
  }];
}

def LfMixedPrecision : Lf_Pass<"lf-mixed-precision"> {
  let summary = "keep statistics, losses and gradients of parameters of a bfloat16 model in float32";
  let description = [{
    Changes types alone: the log-sum-exp of attention, the values of the loss, and every gradient on its way to
    lf.accumulate become float32 where the model is bfloat16, so that the op that makes them rounds nothing. Nothing is
    converted, and models of other types stay as they are.
  }];
}

def LfAnnotate : Lf_Pass<"lf-annotate"> {
  let summary = "state the mesh, and the seeds and pins of the strategies";
  let description = [{
    Creates lf.mesh from the sizes (tp becomes tp_kv x tp_rep when a declaration names the parts) and gives seeds:
    parameters by their `split` (TP), ids and labels (DP, CP), the residual stream at function boundaries (SP). This is
    all that the strategies say; everything else follows.
  }];
  let options = [
    Option<"pp", "pp", "int64_t", "1", "pipeline-parallel size">,
    Option<"dp", "dp", "int64_t", "1", "data-parallel size">,
    Option<"tp", "tp", "int64_t", "1", "tensor-parallel size">,
    Option<"tpRep", "tp-rep", "int64_t", "1", "part of tp that repeats kv heads">,
    Option<"sequenceParallel", "sequence-parallel", "bool", "false", "split the residual stream over tp too">,
  ];
}

def LfPropagate : Lf_Pass<"lf-propagate"> {
  let summary = "complete layouts: a home for each value, roles for each op";
  let description = [{
    Rules P1 to P4 (docs/layouts.md). Sets `homes` and `roles` on each op and `lf.layout` on arguments. A conflict that the
    rules cannot settle is an error that names both sources.
  }];
}

def LfPartition : Lf_Pass<"lf-partition"> {
  let summary = "rewrite to local shapes and explicit collectives";
  let description = [{
    Rules R1 to R4: where the layout of a value is not what an op requires, the steps of the conversion are inserted, once for
    each (value, layout). Consumes `homes`, `roles`, `seed`, `pin`; sets `gradient` on each lf.declare.
  }];
  let statistics = [
    Statistic<"collectives", "collectives", "collectives inserted">,
  ];
}

def LfVerifyPartitioned : Lf_Pass<"lf-verify-partitioned"> {
  let summary = "prove that no layout decision is left";
}

def LfSplitBackward : Lf_Pass<"lf-split-backward"> {
  let summary = "split the gradients of weights off the backward";
  let description = [{
    For zero-bubble schedules. @kind.bwd keeps what the cotangents that it returns need, with its collectives, and the
    accumulations of gradients that its ops yield beside a cotangent. The other accumulations, and what only they need, become
    @kind.wgrad. Values that the backward makes (or is given) and the other reads are returned by the backward after its
    cotangents (`lf.crossing` of them) and taken by @kind.wgrad as its last arguments; `lf.saved` is the number of a value that
    the forward saved. The bundle holds both until the weight pass, and is no larger than without the split: an accumulation
    that needs a value to cross for which no dead saved value makes room stays, too. With an `lf.chain`, only its layers are split.

    ```mlir
    func.func @block.bwd(%dy, %x) -> t {                  func.func @block.bwd(%dy, %x) -> (t, t) attributes {lf.crossing = 1}
      %dx = lf.matmul "sbf,hf->sbh" %dy, %w                 %dx = lf.matmul "sbf,hf->sbh" %dy, %w
      %dw = lf.matmul "sbh,sbf->hf" %x, %dy         =>      return %dx, %dy
      lf.accumulate %dw to "w"                            func.func @block.wgrad(%x {lf.saved = 0}, %dy)
      return %dx                                            %dw = lf.matmul "sbh,sbf->hf" %x, %dy
                                                            lf.accumulate %dw to "w"
    ```
  }];
  let statistics = [
    Statistic<"crossing", "crossing", "values that cross from the backward to the weight gradients">,
  ];
}

def LfAssignStages : Lf_Pass<"lf-assign-stages"> {
  let summary = "cut the chain into stages";
  let description = [{
    Each stage of the layout string becomes an `lf.stage`. Without a layout: equal parts (refused when layers do not divide).
    Stage i is chunk i / pp of rank i % pp; with `vee` the chunk's ranks run backwards in odd chunks (ZB-V).
  }];
  let options = [
    Option<"layout", "layout", "std::string", "\"\"", "layout string; empty: equal parts">,
    Option<"pp", "pp", "int64_t", "1", "pipeline ranks">,
    Option<"vpp", "vpp", "int64_t", "1", "chunks on a rank, when there is no layout">,
    Option<"vee", "vee", "bool", "false", "second chunks in reverse order of ranks">,
  ];
}

def LfBuildSchedule : Lf_Pass<"lf-build-schedule"> {
  let summary = "write one ordered program for each pipeline rank";
  let description = [{
    The order is that of the schedule; a receive stands just before the run that needs it, a send just behind the run that
    made it. With several stages on a rank and `overlap-p2p`, a receive is posted before the run in front of that one. Stages that share a rank exchange no message. `slot` of a line is where the bundle lies among those of its
    stage; it is free again after the last pass of its micro-batch.
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "gpipe, 1f1b, interleaved, zb-h1 or zb-v">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "micro-batches of a step">,
    Option<"groupSize", "group-size", "int64_t", "0", "micro-batches that run through a chunk before the next; 0: ranks">,
    Option<"overlapP2p", "overlap-p2p", "bool", "true", "post receives ahead, where a rank has several stages">,
  ];
}

def LfVerifySchedule : Lf_Pass<"lf-verify-schedule"> {
  let summary = "prove that sends meet receives, in order and without a cyclic wait";
}

#endif // LF_PASSES_TD
