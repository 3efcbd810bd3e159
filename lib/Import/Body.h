//===- Body.h - Emitting one function of the logical program ----------------===//
//
// Ops are made by name, with the type that their operands imply: all of the importer reads as the formulas do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {

/// The function under construction: `owner` is its name, a layer kind, "embed" or "head".
class Body {
public:
  Body(OpBuilder &builder, StringRef owner, Type element) : b(builder), owner(owner), element(element) {}

  RankedTensorType real(ArrayRef<int64_t> shape) const { return RankedTensorType::get(shape, element); }
  RankedTensorType integer(ArrayRef<int64_t> shape) const { return RankedTensorType::get(shape, b.getI32Type()); }

  /// One op with one result, called `what` in messages and in emitted code.
  Value op(StringRef mnemonic, StringRef what, Type type, ValueRange operands,
           ArrayRef<NamedAttribute> attributes = {});
  Operation *ops(StringRef mnemonic, StringRef what, TypeRange types, ValueRange operands,
                 ArrayRef<NamedAttribute> attributes = {});

  /// The parameter `name` of this owner (or of `of`), typed as its lf.declare.
  Value param(StringRef name, StringRef of = {});
  /// The einsum x, w -> result.
  Value matmul(StringRef what, StringRef spec, Value x, Value w);
  /// x + parameter, over the last dims.
  Value bias(StringRef what, Value x, StringRef parameter);
  Value sum(StringRef what, ValueRange terms) { return op("sum", what, terms[0].getType(), terms); }

  NamedAttribute attribute(StringRef name, double v) { return b.getNamedAttr(name, b.getF64FloatAttr(v)); }
  NamedAttribute attribute(StringRef name, int64_t v) { return b.getNamedAttr(name, b.getI64IntegerAttr(v)); }
  NamedAttribute attribute(StringRef name, StringRef v) { return b.getNamedAttr(name, b.getStringAttr(v)); }

  OpBuilder &b;
  std::string prefix; ///< of the names of this owner's parameters: "mtp0_"

private:
  std::string owner;
  Type element;
};

} // namespace mlir::lf
