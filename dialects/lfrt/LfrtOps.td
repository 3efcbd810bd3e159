//===- LfrtOps.td - Addresses, launches, streams, messages -----*- tablegen -*-===//
//
// One op for one function of runtime.h. This is the file that table generation reads.
//
//===----------------------------------------------------------------------===//
include "lfrt/LfrtTableOps.td"
include "lfrt/LfrtCodeOps.td"

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

def Lfrt_SlotOp : Lfrt_Op<"slot"> {
  let summary = "an address in the function's bundle or workspace";
  let description = [{
    `lfrt.slot "norm" in "workspace" at 16384 : !lfrt.buffer<f32 x 4096>`. Arenas: "bundle", "workspace", and "output":
    inside the function's output before that is written. Without `at` until lf-plan-memory. (C1) offsets are multiples
    of 64.
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$arena, OptionalAttr<I64Attr>:$offset);
  let results = (outs Lfrt_Buffer:$result);
  let assemblyFormat = "$name `in` $arena (`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Lfrt_ParamOp : Lfrt_Op<"param"> {
  let summary = "lf_arena(LF_PARAMETERS) + the place of this layer's parameter";
  let description = "`index` counts the places that the caller passes.";
  let arguments = (ins StrAttr:$owner, StrAttr:$name, I64Attr:$index);
  let results = (outs Lfrt_Buffer:$result);
  let assemblyFormat = "$name `of` $owner `at` $index attr-dict `:` type($result)";
}
def Lfrt_GradientOp : Lfrt_Op<"gradient"> {
  let summary = "lf_arena(LF_GRADIENTS) + the place of this layer's parameter";
  let arguments = (ins StrAttr:$owner, StrAttr:$name, I64Attr:$index);
  let results = (outs Lfrt_Buffer:$result);
  let assemblyFormat = "$name `of` $owner `at` $index attr-dict `:` type($result)";
}
def Lfrt_GradientsOp : Lfrt_Op<"gradients"> {
  let summary = "lf_arena(LF_GRADIENTS) + offset: a run of gradients";
  let arguments = (ins StrAttr:$name, I64Attr:$offset);
  let results = (outs Lfrt_Buffer:$result);
  let assemblyFormat = "$name `at` $offset attr-dict `:` type($result)";
}
def Lfrt_ViewOp : Lfrt_Op<"view"> {
  let summary = "address of the part of a buffer that belongs to this rank";
  let description = [{
    The operand's address + lf_coordinate(axes) * scale elements. (C1) the group's parts fill the operand.
  }];
  let arguments = (ins Lfrt_Buffer:$x, Lfrt_CoordinateAttr:$offset);
  let results = (outs Lfrt_Buffer:$result);
  let assemblyFormat = "$x `at` $offset attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Lfrt_LaunchOp : Lfrt_Op<"launch", [AttrSizedOperandSegments]> {
  let summary = "lf_<kernel>";
  let description = [{
    `lfrt.launch "rms_norm" "input_norm" ins(%x, %w : ...) outs(%n : ...) args [8192, 4096, 1.0e-05 : f64]`. Arguments
    in the order of the C function: integers, doubles, activation names, arrays of doubles, and offsets that depend on
    the rank (#lfrt.coordinate).
    (C1) the kernel is one of runtime.h; (C2) as many inputs, outputs and arguments, of its kinds.
  }];
  let arguments = (ins StrAttr:$kernel, StrAttr:$what, Variadic<Lfrt_Buffer>:$inputs, Variadic<Lfrt_Buffer>:$outputs,
                      ArrayAttr:$args);
  let assemblyFormat = "$kernel $what (`ins` `(` $inputs^ `:` type($inputs) `)`)? "
                       "`outs` `(` $outputs `:` type($outputs) `)` `args` $args attr-dict";
  let hasVerifier = 1;
}
def Lfrt_MaskOp : Lfrt_Op<"mask"> {
  let summary = "lf_copy on index 0 of the group, lf_zero elsewhere";
  let description = "(C1) one type.";
  let arguments = (ins StrAttr:$what, Lfrt_Buffer:$x, Lfrt_Buffer:$y, StrArrayAttr:$axes);
  let assemblyFormat = "$what $x `into` $y `over` $axes attr-dict `:` type($x) `,` type($y)";
  let hasVerifier = 1;
}
def Lfrt_AddLossOp : Lfrt_Op<"add_loss"> {
  let summary = "lf_add_loss";
  let description = [{
    It counts where the index over `repeated` is 0. With `depth`: lf_add_depth_loss, of that depth of multi-token prediction.
    (C1) both are one element.
  }];
  let arguments = (ins Lfrt_Buffer:$loss, Lfrt_Buffer:$tokens, StrArrayAttr:$repeated, OptionalAttr<I64Attr>:$depth);
  let assemblyFormat = [{
    $loss `,` $tokens `repeated` $repeated (`depth` $depth^)? attr-dict `:` type($loss) `,` type($tokens)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Streams and collectives
//===----------------------------------------------------------------------===//

def Lfrt_RecordOp : Lfrt_Op<"record"> {
  let summary = "lf_record";
  let description = "`stream` is \"compute\" or the name of a communicator.";
  let arguments = (ins StrAttr:$stream);
  let results = (outs Lfrt_Event:$event);
  let assemblyFormat = "$stream attr-dict";
}
def Lfrt_WaitOp : Lfrt_Op<"wait"> {
  let summary = "lf_wait";
  let arguments = (ins StrAttr:$stream, Lfrt_Event:$event);
  let assemblyFormat = "$stream `for` $event attr-dict";
}

// On the stream of the communicator. (C1) the communicator and its mesh are declared; (C2) the counts fit its size.
class Lfrt_Collective<string mnemonic, dag extra = (ins)> : Lfrt_Op<mnemonic> {
  let summary = "lf_" # mnemonic;
  let description = [{
    Runs on the communicator's own stream: what it reads must have been waited for, and so must its result.
  }];
  let arguments = !con((ins StrAttr:$what, Lfrt_Buffer:$x, Lfrt_Buffer:$y), extra, (ins StrAttr:$comm));
  let hasVerifier = 1;
}
def Lfrt_AllGatherOp : Lfrt_Collective<"all_gather"> {
  let assemblyFormat = "$what $x `into` $y `comm` $comm attr-dict `:` type($x) `->` type($y)";
}
def Lfrt_ReduceScatterOp : Lfrt_Collective<"reduce_scatter", (ins StrAttr:$reduction)> {
  let assemblyFormat = "$what $reduction $x `into` $y `comm` $comm attr-dict `:` type($x) `->` type($y)";
}
def Lfrt_AllReduceOp : Lfrt_Collective<"all_reduce", (ins StrAttr:$reduction)> {
  let assemblyFormat = "$what $reduction $x `into` $y `comm` $comm attr-dict `:` type($x) `->` type($y)";
}
def Lfrt_AllToAllOp : Lfrt_Collective<"all_to_all"> {
  let assemblyFormat = "$what $x `into` $y `comm` $comm attr-dict `:` type($x) `->` type($y)";
}
def Lfrt_SendOp : Lfrt_Op<"send"> {
  let summary = "lf_send";
  let arguments = (ins StrAttr:$what, Lfrt_Buffer:$x, I64Attr:$pp, I64Attr:$tag);
  let assemblyFormat = "$what $x `to` $pp `tag` $tag attr-dict `:` type($x)";
}
def Lfrt_RecvOp : Lfrt_Op<"recv"> {
  let summary = "lf_recv";
  let arguments = (ins StrAttr:$what, Lfrt_Buffer:$y, I64Attr:$pp, I64Attr:$tag);
  let assemblyFormat = "$what $y `from` $pp `tag` $tag attr-dict `:` type($y)";
}

def Lfrt_PostRecvOp : Lfrt_Op<"post_recv", [HasParent<"FuncOp">]> {
  let summary = "lf_post_recv";
  let description = [{
    The first half of a receive: the message may be written to `y` from now on. The lfrt.wait_recv that ends it is in
    another action, since what lies between is what it overlaps with; lfrt.program (C2) pairs them.
    (C1) `y` is the "output" of an action.
  }];
  let arguments = (ins StrAttr:$what, Lfrt_Buffer:$y, I64Attr:$pp, I64Attr:$tag);
  let assemblyFormat = "$what $y `from` $pp `tag` $tag attr-dict `:` type($y)";
  let hasVerifier = 1;
}
def Lfrt_WaitRecvOp : Lfrt_Op<"wait_recv", [HasParent<"FuncOp">]> {
  let summary = "lf_wait_recv";
  let description = [{
    The second half: what follows may read `y`. (C1) `y` is the "input" of an action.
  }];
  let arguments = (ins StrAttr:$what, Lfrt_Buffer:$y, I64Attr:$pp, I64Attr:$tag);
  let assemblyFormat = "$what $y `from` $pp `tag` $tag attr-dict `:` type($y)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

def Lfrt_BeginStepOp : Lfrt_Op<"begin_step"> {
  let summary = "lf_begin_step";
  let assemblyFormat = "attr-dict";
}
def Lfrt_LoadBatchOp : Lfrt_Op<"load_batch", [AttrSizedOperandSegments]> {
  let summary = "lf_load_batch, or lf_load_shifted when `shift` is given";
  let description = "What is not given is not wanted.";
  let arguments = (ins Optional<Lfrt_Buffer>:$ids, Optional<Lfrt_Buffer>:$labels, Optional<Lfrt_Buffer>:$positions,
                       OptionalAttr<I64Attr>:$shift);
  let assemblyFormat = "(`ids` $ids^ `:` type($ids))? (`labels` $labels^ `:` type($labels))? "
                       "(`positions` $positions^ `:` type($positions))? attr-dict";
}
def Lfrt_FinishGradientsOp : Lfrt_Op<"finish_gradients"> {
  let summary = "lf_finish_gradients";
  let assemblyFormat = "attr-dict";
}
def Lfrt_AdamWOp : Lfrt_Op<"adamw"> {
  let summary = "lf_adamw";
  let arguments = (ins StrAttr:$what, I64Attr:$offset, I64Attr:$count, UnitAttr:$decay);
  let assemblyFormat = "$what `at` $offset `count` $count (`decay` $decay^)? attr-dict";
}
def Lfrt_EndStepOp : Lfrt_Op<"end_step"> {
  let summary = "lf_end_step";
  let assemblyFormat = "attr-dict";
}
