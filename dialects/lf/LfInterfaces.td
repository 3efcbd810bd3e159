//===- LfInterfaces.td - What an op says about itself ----------*- tablegen -*-===//
//
// Sharding rule, adjoint, cost, collective: passes ask these and know no op by name.
//
//===----------------------------------------------------------------------===//

#ifndef LF_INTERFACES_TD
#define LF_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Lf_ShardingRuleInterface : OpInterface<"ShardingRuleInterface"> {
  let cppNamespace = "::mlir::lf";
  let description = [{
    The parallel behaviour of an op as factors: one letter for each dim of each operand and result. Constraint F1, that
    a factor has one size wherever it occurs, is verified for every op that has the interface.
  }];
  let methods = [
    InterfaceMethod<"Factors, blocked factors, linear operands.", "::lf::Rule", "getShardingRule", (ins)>,
    InterfaceMethod<[{Factors of which the kernel must know the range that it computes: these keep their axes as the
      attribute `shards` after partition.}], "::llvm::StringRef", "getIndexedFactors", (ins), "",
      [{ return ""; }]>,
  ];
}

def Lf_AdjointInterface : OpInterface<"AdjointInterface"> {
  let cppNamespace = "::mlir::lf";
  let description = [{
    Reverse-mode derivative. The adjoint of an op uses the same factor letters, so it plays the same roles (P3).
  }];
  let methods = [
    InterfaceMethod<[{Emits the adjoint. `cotangents` has one value for each result (null: nobody needs that result);
      `saved` maps a forward value to its value in the backward. Appends (operand number, contribution).}],
      "void", "buildAdjoint", (ins "::mlir::lf::AdjointBuilder &":$builder, "::mlir::ValueRange":$cotangents)>,
  ];
}

def Lf_CostInterface : OpInterface<"CostInterface"> {
  let cppNamespace = "::mlir::lf";
  let description = [{What running the op once costs, from its shapes: the planner's only source.}];
  let methods = [
    InterfaceMethod<"Floating-point operations (a multiply and an add are two).", "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Bytes read and written once each.", "int64_t", "getBytes", (ins), "",
      [{ return ::mlir::lf::bytesOfOperandsAndResults($_op); }]>,
  ];
}

def Lf_CollectiveInterface : OpInterface<"CollectiveInterface"> {
  let cppNamespace = "::mlir::lf";
  let description = [{An op that moves data between the ranks of a group, or would without being free.}];
  let methods = [
    InterfaceMethod<"Mesh axes of the group, major to minor.", "::lf::Axes", "getGroupAxes", (ins)>,
  ];
}

#endif // LF_INTERFACES_TD
