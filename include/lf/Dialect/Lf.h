//===- Lf.h - The lf dialect in C++ ---------------------------------------===//
//
// Dialect, attributes, interfaces and ops; dialects/lf has their documentation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Layout.h"
#include "lf/Layout/Propagate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::lf {

/// What an op's adjoint needs in order to emit itself. Created by lf-differentiate, once for each forward op.
class AdjointBuilder {
public:
  AdjointBuilder(OpBuilder &builder, Operation *primal, llvm::function_ref<Value(Value)> saved)
      : builder(builder), primal(primal), saved(saved) {}

  /// The value in the backward of operand or result `v` of the primal op.
  Value get(Value v) { return saved(v); }
  /// Emits an op of the adjoint; it inherits the primal's roles.
  Operation *emit(StringRef name, TypeRange types, ValueRange operands, ArrayRef<NamedAttribute> attributes = {});
  /// Says that `value` is a term of the cotangent of the primal's operand.
  void contribute(unsigned operand, Value value) { contributions.emplace_back(operand, value); }

  OpBuilder &builder;
  Operation *primal;
  SmallVector<std::pair<unsigned, Value>> contributions;

private:
  llvm::function_ref<Value(Value)> saved;
};

/// F1 (a factor has one size) and the checks that ops share.
LogicalResult verifyModelOp(Operation *op);

/// Operands and results of an op whose elements are of the main type; the rest are of the model's real type.
struct MainPositions {
  SmallVector<unsigned, 3> operands, results;
};
MainPositions mainPositions(Operation *op);
/// float32 for bfloat16, else the type itself.
Type mainTypeOf(Type real);
/// F1 for element types: one real type, and its main type (or the same type) where mainPositions says so.
LogicalResult verifyElementTypes(Operation *op);
/// Default of CostInterface::getBytes.
int64_t bytesOfOperandsAndResults(Operation *op);
/// Size of each factor of an op at its present shapes.
std::map<char, int64_t> factorSizes(Operation *op);
/// Axis list as an attribute, and back.
ArrayAttr axesAttr(MLIRContext *context, const ::lf::Axes &axes);
::lf::Axes axesOf(ArrayAttr axes);
/// The layer kind that a function belongs to: its name up to the first '.'.
StringRef ownerOf(Operation *inside);

} // namespace mlir::lf

#include "lf/Dialect/LfDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "lf/Dialect/LfAttrs.h.inc"
#include "lf/Dialect/LfInterfaces.h.inc"
#define GET_OP_CLASSES
#include "lf/Dialect/LfOps.h.inc"
