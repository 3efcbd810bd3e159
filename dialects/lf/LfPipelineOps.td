//===- LfPipelineOps.td - Mesh, parameters, stages, programs ---*- tablegen -*-===//
//
// Global facts of the module, and one ordered program for each pipeline rank.
//
//===----------------------------------------------------------------------===//

#ifndef LF_PIPELINE_OPS_TD
#define LF_PIPELINE_OPS_TD

include "lf/LfOpBase.td"

def Lf_MeshOp : Lf_Op<"mesh"> {
  let summary = "the mesh: named axes, major to minor";
  let description = [{
    `lf.mesh axes ["pp", "dp", "tp_kv", "tp_rep"] sizes [1, 2, 2, 2] names {cp = [], dp = ["dp"], pp = ["pp"], tp = ["tp_kv", "tp_rep"]}`.
    A strategy axis is a list of atomic axes. Created by lf-annotate; one in a module.
    (C1) axes are distinct and sizes positive; (C2) every list names axes of the mesh, in its order.
  }];
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, DictionaryAttr:$names);
  let assemblyFormat = "`axes` $axes `sizes` $sizes `names` $names attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::lf::Mesh getMesh();
    /// The atomic axes of a strategy axis ("tp"); empty when it is not named.
    ::lf::Axes getStrategy(::llvm::StringRef name);
    /// The module's mesh, or null.
    static MeshOp find(::mlir::Operation *inside);
  }];
}

def Lf_DeclareOp : Lf_Op<"declare"> {
  let summary = "a parameter of a layer kind, and its name in files";
  let description = [{
    ```mlir
    lf.declare "decoder" "q" : tensor<64x4x2x8xf32> {split = ["", "tp_kv", "tp_rep", ""], hf_name = "...", ...}
    ```
    The type is whole (and padded) at every level. `layout` (lf-annotate) is where it is stored; `gradient` (lf-partition) the
    layout in which its gradient accumulates.
    `split` names the strategy list of each dim; `closed` those over which it is repeated on purpose.
    `valid` are the dims without padding; `rows`, `transposed`, `hf_col`, `hf_cols`, `hf_row`, `hf_rows` place it in the tensor of
    the file (hf_rows 0: all rows). `optional`: a file may lack it, and then it is initialised.
  }];
  let arguments = (ins StrAttr:$owner, StrAttr:$name, TypeAttr:$type, StrArrayAttr:$split, StrArrayAttr:$closed, StrAttr:$hf_name,
                       DenseI64ArrayAttr:$valid, I64Attr:$rows, UnitAttr:$transposed, I64Attr:$hf_col, I64Attr:$hf_cols,
                       DefaultValuedAttr<I64Attr, "0">:$hf_row, DefaultValuedAttr<I64Attr, "0">:$hf_rows, UnitAttr:$optional,
                       UnitAttr:$decay, StrAttr:$init, F64Attr:$std,
                       OptionalAttr<Lf_LayoutAttr>:$layout, OptionalAttr<Lf_LayoutAttr>:$gradient);
  let assemblyFormat = "$owner $name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The declaration of owner.name, or null.
    static DeclareOp find(::mlir::Operation *inside, ::llvm::StringRef owner, ::llvm::StringRef name);
  }];
}

def Lf_ChainOp : Lf_Op<"chain"> {
  let summary = "the layers of the model, in order";
  let description = [{
    `lf.chain embed @embed layers [@decoder] counts [32] head @head`: runs of equal layers. (C1) as many counts as
    layers, all positive. With multi-token prediction, `final @final mtp @mtp depths 1` before the head: the final norm
    runs after the last layer, wherever that is, and @mtp has all depths. (C2) `mtp` needs `final` and 1 to 16 `depths`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$embed, ArrayAttr:$layers, DenseI64ArrayAttr:$counts,
                       OptionalAttr<FlatSymbolRefAttr>:$final, OptionalAttr<FlatSymbolRefAttr>:$mtp, DefaultValuedAttr<I64Attr, "0">:$depths,
                       FlatSymbolRefAttr:$head);
  let assemblyFormat = [{
    `embed` $embed `layers` $layers `counts` $counts (`final` $final^)? (`mtp` $mtp^ `depths` $depths)? `head` $head attr-dict
  }];
  let hasVerifier = 1;
}

def Lf_StageOp : Lf_Op<"stage", [Symbol]> {
  let summary = "a part of the chain that runs without a boundary";
  let description = [{
    `lf.stage @stage0 pp 0 chunk 0 embed layers [@decoder] counts [7] first 0 {}`: on pipeline rank `pp`, its
    `chunk`-th stage: the embedding (when `embed`), runs of layers starting at layer number `first`, the bodies of `tail` once
    each (`tail [@final, @mtp]`: the final norm, multi-token prediction), the head (when `head`).
    Created by lf-assign-stages. (C1) as of lf.chain; (C2) `tail` has symbols.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$pp, I64Attr:$chunk, UnitAttr:$embed, ArrayAttr:$layers, DenseI64ArrayAttr:$counts,
                       I64Attr:$first, OptionalAttr<ArrayAttr>:$tail, UnitAttr:$head);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $sym_name `pp` $pp `chunk` $chunk (`embed` $embed^)? `layers` $layers `counts` $counts `first` $first (`tail` $tail^)? (`head` $head^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Embedding, multi-token prediction or head: some body of the stage takes ids or labels.
    bool takesTokens();
  }];
}

def Lf_ProgramOp : Lf_Op<"program", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "what one pipeline rank does in a step, in order of issue";
  let description = [{
    Lines are the order of issue; the bundles of saved activations alive at a line are the memory model.
    Created by lf-build-schedule.
  }];
  // buffers: messages that a channel between two stages has to hold, so that no send waits for ever.
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$pp, DefaultValuedAttr<I64Attr, "1">:$buffers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `pp` $pp attr-dict-with-keyword $body";
}

class Lf_ProgramLine<string mnemonic> : Lf_Op<mnemonic, [HasParent<"::mlir::lf::ProgramOp">]>;

def Lf_LoadBatchOp : Lf_ProgramLine<"load_batch"> {
  let summary = "the ids and labels that a stage's bodies take, of one micro-batch, into the stage's bundle";
  let arguments = (ins FlatSymbolRefAttr:$stage, I64Attr:$micro_batch, I64Attr:$slot);
  let assemblyFormat = "$stage `micro_batch` $micro_batch `slot` $slot attr-dict";
}
def Lf_RunOp : Lf_ProgramLine<"run"> {
  let summary = "a pass of a stage for one micro-batch";
  let description = [{`lf.run forward @stage0 micro_batch 3 slot 1`: `slot` is where the bundle of saved activations lies.
    Passes: "forward", "backward", and "weight" where lf-split-backward has split the gradients of weights off.}];
  let arguments = (ins StrAttr:$pass, FlatSymbolRefAttr:$stage, I64Attr:$micro_batch, I64Attr:$slot);
  let assemblyFormat = "$pass $stage `micro_batch` $micro_batch `slot` $slot attr-dict";
}
def Lf_SendOp : Lf_ProgramLine<"send"> {
  let summary = "send a stage's output, or its input's cotangent";
  let description = [{`lf.send forward @stage0 to @stage1 micro_batch 3`.}];
  let arguments = (ins StrAttr:$pass, FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to, I64Attr:$micro_batch, I64Attr:$slot);
  let assemblyFormat = "$pass $from `to` $to `micro_batch` $micro_batch `slot` $slot attr-dict";
}
def Lf_PostRecvOp : Lf_ProgramLine<"post_recv"> {
  let summary = "ask for a message that a later line receives";
  let description = [{`lf.post_recv forward @stage1 from @stage0 micro_batch 3`: the message may arrive while what stands between this
    line and its `lf.recv ... posted` computes. It has no slot: until the lf.recv, the message lies outside of the bundle, whose
    slot may still be another micro-batch's.}];
  let arguments = (ins StrAttr:$pass, FlatSymbolRefAttr:$to, FlatSymbolRefAttr:$from, I64Attr:$micro_batch);
  let assemblyFormat = "$pass $to `from` $from `micro_batch` $micro_batch attr-dict";
}
def Lf_RecvOp : Lf_ProgramLine<"recv"> {
  let summary = "receive a stage's input, or its output's cotangent";
  let description = [{`lf.recv forward @stage1 from @stage0 micro_batch 3 slot 1`; `posted`: of an lf.post_recv before it.}];
  let arguments = (ins StrAttr:$pass, FlatSymbolRefAttr:$to, FlatSymbolRefAttr:$from, I64Attr:$micro_batch, I64Attr:$slot,
                       UnitAttr:$posted);
  let assemblyFormat = "$pass $to `from` $from `micro_batch` $micro_batch `slot` $slot (`posted` $posted^)? attr-dict";
}
def Lf_SyncGradsOp : Lf_ProgramLine<"sync_grads"> {
  let summary = "finish every gradient of this rank";
  let description = "Each accumulator goes from its `gradient` layout to the `layout` of its parameter; copies of a tied parameter are summed.";
  let assemblyFormat = "attr-dict";
}
def Lf_OptimizerStepOp : Lf_ProgramLine<"optimizer_step"> {
  let summary = "global norm, clip, update";
  let arguments = (ins StrAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

#endif // LF_PIPELINE_OPS_TD
