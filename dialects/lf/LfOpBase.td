//===- LfOpBase.td - What all model ops share ------------------*- tablegen -*-===//
//
// Types, the attributes that the levels attach, and the base classes.
//
//===----------------------------------------------------------------------===//

#ifndef LF_OP_BASE_TD
#define LF_OP_BASE_TD

include "lf/LfAttrs.td"
include "lf/LfInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

def Lf_Real : RankedTensorOf<[F32, F64, BF16]>;
def Lf_Int : RankedTensorOf<[I32]>;
def Lf_Tensor : RankedTensorOf<[F32, F64, BF16, I32]>;

// id     number of a forward op within its layer kind                     created by lf-differentiate
// of     the forward op whose adjoint this is: same factors, same roles (P3)           lf-differentiate
// links  one string for each result of a backward op                                   lf-differentiate
//          "cotangent:ID.R" or "cotangent:argN"   cotangent of a forward value
//          "gradient:OWNER.NAME"                  finished sum of a parameter's contributions
//          "contribution" or "contribution:OWNER.NAME"  one term of a sum: has no home
// seed   layout that a strategy gives to the (only) result                             lf-annotate
// pin    roles that a strategy gives to this op                                        lf-annotate
// homes  one layout for each result (unit: a contribution)                             lf-propagate, gone after lf-partition
// roles  factor -> axes                                                                lf-propagate, gone after lf-partition
// shards factor -> axes, for kernels that must know their range                        lf-partition
defvar Lf_LevelAttrs = (ins
  OptionalAttr<I64Attr>:$id, OptionalAttr<I64Attr>:$of, OptionalAttr<StrArrayAttr>:$links,
  OptionalAttr<Lf_LayoutAttr>:$seed, OptionalAttr<Lf_RolesAttr>:$pin,
  OptionalAttr<ArrayAttr>:$homes, OptionalAttr<Lf_RolesAttr>:$roles, OptionalAttr<Lf_RolesAttr>:$shards);

class Lf_Op<string mnemonic, list<Trait> traits = []> : Op<Lf_Dialect, mnemonic, traits>;

// A model op: pure, with a sharding rule (verified as F1) and a cost.
// `indexed`: factors of which the kernel must know the range that it computes.
class Lf_ModelOp<string mnemonic, dag args, dag res, string indexed = "", list<Trait> traits = []>
    : Lf_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Lf_ShardingRuleInterface>,
                                   DeclareOpInterfaceMethods<Lf_CostInterface>], traits)> {
  let arguments = !con(args, Lf_LevelAttrs);
  let results = res;
  let hasVerifier = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = "::llvm::StringRef getIndexedFactors() { return \"" # indexed # "\"; }";
  let extraClassDefinition = "::llvm::LogicalResult $cppClass::verify() { return ::mlir::lf::verifyModelOp(*this); }";
}

// A forward op: it also has an adjoint.
class Lf_ForwardOp<string mnemonic, dag args, dag res, string indexed = "">
    : Lf_ModelOp<mnemonic, args, res, indexed, [DeclareOpInterfaceMethods<Lf_AdjointInterface>]>;

#endif // LF_OP_BASE_TD
