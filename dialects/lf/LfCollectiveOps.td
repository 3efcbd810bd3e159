//===- LfCollectiveOps.td - Movements of data between ranks ----*- tablegen -*-===//
//
// One op for each step of a layout conversion. Only lf-partition creates them; `reason` says for which value and why.
//
//===----------------------------------------------------------------------===//

#ifndef LF_COLLECTIVE_OPS_TD
#define LF_COLLECTIVE_OPS_TD

include "lf/LfOpBase.td"

// n is the product of the sizes of `axes`, taken from the module's lf.mesh. Constraints of all:
//   (C1) every axis is an axis of the mesh, and occurs once, in the order of the mesh
//   (C2) element types and ranks of operand and result are equal
// Only a slice may be of integers (positions).
class Lf_Collective<string mnemonic, dag args, Type type = Lf_Real> : Lf_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<Lf_CollectiveInterface>]> {
  let arguments = !con((ins type:$x), args, (ins StrArrayAttr:$axes, OptionalAttr<StrAttr>:$reason));
  let results = (outs type:$result);
  let hasVerifier = 1;
}

def Lf_Reduction : StringBasedAttr<CPred<"::llvm::is_contained(::llvm::ArrayRef<::llvm::StringRef>{\"sum\", \"max\"}, ::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
    "\"sum\" or \"max\"">;

def Lf_AllGatherOp : Lf_Collective<"all_gather", (ins I64Attr:$dim)> {
  let summary = "concatenate the parts of a dim";
  let description = [{
    ```
    before, dim 0 over tp = 2      after
    tp 0: [a b]                    tp 0: [a b c d]
    tp 1: [c d]                    tp 1: [a b c d]
    ```
    (C3) result dim `dim` is n times the operand's; the others are equal.
  }];
  let assemblyFormat = "$x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($result)";
}
def Lf_ReduceScatterOp : Lf_Collective<"reduce_scatter", (ins Lf_Reduction:$reduction, I64Attr:$dim)> {
  let summary = "reduce, each rank keeping its part of a dim";
  let description = [{
    ```
    before, dim 0 over tp = 2      after
    tp 0: [a b c d]                tp 0: [a+e b+f]
    tp 1: [e f g h]                tp 1: [c+g d+h]
    ```
    (C3) operand dim `dim` is n times the result's; the others are equal.
  }];
  let assemblyFormat = "$reduction $x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($result)";
}
def Lf_AllReduceOp : Lf_Collective<"all_reduce", (ins Lf_Reduction:$reduction)> {
  let summary = "reduce, every rank keeping all";
  let description = [{
    ```
    before, over tp = 2            after
    tp 0: [a b]                    tp 0: [a+c b+d]
    tp 1: [c d]                    tp 1: [a+c b+d]
    ```
    (C3) operand and result have one type.
  }];
  let assemblyFormat = "$reduction $x `over` $axes attr-dict `:` type($x) `->` type($result)";
}
def Lf_AllToAllOp : Lf_Collective<"all_to_all", (ins I64Attr:$from, I64Attr:$to)> {
  let summary = "exchange the split of one dim for that of another";
  let description = [{
    ```
    before, rows over cp = 2       after, from dim 0 to dim 1
    cp 0: [a b]                    cp 0: [a]      cp 1: [b]
    cp 1: [c d]                          [c]            [d]
    ```
    (C3) result dim `from` is n times the operand's, operand dim `to` n times the result's; the others are equal.
  }];
  let assemblyFormat = "$x `from` $from `to` $to `over` $axes attr-dict `:` type($x) `->` type($result)";
}
def Lf_SliceOp : Lf_Collective<"slice", (ins I64Attr:$dim), Lf_Tensor> {
  let summary = "keep this rank's part of a dim; sends nothing";
  let description = [{
    ```
    before, dim 0 over tp = 2      after
    tp 0: [a b]                    tp 0: [a]
    tp 1: [a b]                    tp 1: [b]
    ```
    (C3) operand dim `dim` is n times the result's; the others are equal.
  }];
  let assemblyFormat = "$x `dim` $dim `over` $axes attr-dict `:` type($x) `->` type($result)";
}
def Lf_MaskOp : Lf_Collective<"mask", (ins)> {
  let summary = "keep on index 0 of the group, zero elsewhere; sends nothing";
  let description = "Makes a whole value partial. (C3) operand and result have one type.";
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($x) `->` type($result)";
}

#endif // LF_COLLECTIVE_OPS_TD
