//===- LfrtCodeOps.td - Functions, programs, calls -------------*- tablegen -*-===//
//
// The structure of the emitted program: bodies, actions, one list of actions for each pipeline rank.
//
//===----------------------------------------------------------------------===//

#ifndef LFRT_CODE_OPS_TD
#define LFRT_CODE_OPS_TD

include "lfrt/LfrtTypes.td"

def Lfrt_FuncOp : Lfrt_Op<"func", [Symbol, NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "a static function of the emitted program";
  let description = [{
    `kind` is "body" (a pass of one layer; called by actions) or "action" (run by a program). Block arguments are
    addresses, named by `names`. A body also gets its layer number, the places of its parameters, its `bundle` and a
    `workspace`; an action its micro-batch, its bundle and the whole workspace arena. "input" and "output" are the
    boundary values.
    lf-plan-memory sets `workspace` (bytes that the body needs) and `live` (bytes alive at its worst line).
    The bundle of an action with `bundleInWorkspace` lies in the workspace arena, not in "saved".
    (C1) one name for each argument.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, StrAttr:$title, StrArrayAttr:$names,
                       OptionalAttr<I64Attr>:$workspace, OptionalAttr<I64Attr>:$live, UnitAttr:$bundleInWorkspace);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind $sym_name $title `names` $names attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The argument of that name, or null.
    ::mlir::Value getArgument(::llvm::StringRef name);
    bool isBody() { return getKind() == "body"; }
  }];
}

def Lfrt_ProgramOp : Lfrt_Op<"program", [Symbol, NoTerminator, SingleBlock, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the actions of one pipeline rank, in order";
  let description = [{
    (C2) A row whose action posts a receive is followed by exactly one whose action waits for it, with the same spot,
    pipeline rank and tag; of one rank and tag, waits come in the order of posts. No row between the two reads or writes
    the spot's bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$pp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `pp` $pp attr-dict-with-keyword $body";
}

def Lfrt_RunOp : Lfrt_Op<"run", [HasParent<"ProgramOp">]> {
  let summary = "one row of a program's table of actions";
  let description = [{
    `bundle` is the byte of its arena where the micro-batch's bundle begins. `live`: bytes of bundles and
    messages alive at this line. (C1) the callee is an action.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, I64Attr:$micro_batch, I64Attr:$bundle,
                       OptionalAttr<Lfrt_SpotAttr>:$input, OptionalAttr<Lfrt_SpotAttr>:$output, I64Attr:$live);
  let assemblyFormat = "$callee `micro_batch` $micro_batch `bundle` $bundle (`input` $input^)? (`output` $output^)? "
                       "attr-dict";
}

def Lfrt_CallOp : Lfrt_Op<"call", [AttrSizedOperandSegments, HasParent<"FuncOp">]> {
  let summary = "run a body for `count` layers from layer `first` on, last to first when `reverse`";
  let description = [{
    The bundle of the i-th layer is `bundle + i * stride` of the action's bundle, and begins with the layer's input.
    Forward: the output goes to the beginning of the next layer's bundle; that of the last layer to `output`, when
    given. Reverse: the cotangent of the last layer's output is `input`; cotangents between layers alternate
    between the two of
    `scratch`; that of the first layer's input goes to `output`. `places` are lfrt.place numbers, in the order of the
    body's parameters; `work` is the byte of the workspace arena where the body's workspace begins.
    (C1) the callee is a body; (C2) operands match its arguments.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, I64Attr:$first, I64Attr:$count, UnitAttr:$reverse, I64Attr:$bundle,
                       I64Attr:$stride, I64Attr:$work, DenseI64ArrayAttr:$places, Variadic<Lfrt_Buffer>:$integers,
                       Optional<Lfrt_Buffer>:$input,
                       Variadic<Lfrt_Buffer>:$scratch, Optional<Lfrt_Buffer>:$output);
  let assemblyFormat = [{
    $callee `layers` $first `count` $count (`reverse` $reverse^)? `bundle` $bundle `stride` $stride `work` $work
    `places` $places    (`integers` `(` $integers^ `:` type($integers) `)`)? (`input` $input^ `:` type($input))?
    (`scratch` `(` $scratch^ `:` type($scratch) `)`)? (`output` $output^ `:` type($output))? attr-dict
  }];
  let hasVerifier = 1;
}

#endif // LFRT_CODE_OPS_TD
