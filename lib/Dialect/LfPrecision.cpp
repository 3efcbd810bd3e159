//===- LfPrecision.cpp - Which values keep the main precision ----*- C++ -*-===//
//
// In a bfloat16 model the statistics of attention and loss, the loss and the gradients of parameters are float32.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"

using namespace mlir;
using namespace mlir::lf;

MainPositions mlir::lf::mainPositions(Operation *op) {
  if (isa<AttentionOp>(op))
    return {{}, {1}};
  if (isa<AttentionGradOp>(op))
    return {{6}, {}};
  if (isa<CrossEntropyOp>(op))
    return {{}, {0, 1, 2}};
  if (isa<CrossEntropyGradOp>(op))
    return {{1, 2, 4}, {}};
  if (isa<RowMaxOp, PickOp, CountOp, FillOp, BiasGradOp, EmbeddingGradOp, PositionEmbeddingGradOp>(op))
    return {{}, {0}};
  if (isa<SumExpOp>(op))
    return {{1}, {0}};
  if (isa<NllOp>(op))
    return {{0, 1, 2}, {0}};
  if (isa<SumAllOp, DepthLossOp, DepthWeightOp, BroadcastOp>(op))
    return {{0}, {0}};
  if (isa<RmsNormGradOp>(op))
    return {{}, {1}};
  if (isa<LayerNormGradOp>(op))
    return {{}, {1, 2}};
  return {};
}

Type mlir::lf::mainTypeOf(Type real) { return real.isBF16() ? Float32Type::get(real.getContext()) : real; }

LogicalResult mlir::lf::verifyElementTypes(Operation *op) {
  MainPositions positions = mainPositions(op);
  Type real, main;
  auto check = [&](Type type, bool isMain, const Twine &what) -> LogicalResult {
    Type element = cast<RankedTensorType>(type).getElementType();
    Type &known = isMain ? main : real;
    if (element.isInteger(32))
      return success();
    if (known && known != element)
      return op->emitOpError() << "(F1) expected one real element type, got " << known << " and " << element << " in "
                               << what;
    known = element;
    return success();
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(check(type, llvm::is_contained(positions.operands, i), "operand " + Twine(i))))
      return failure();
  // A product that is the gradient of a parameter may have either.
  Type produced = isa<MatmulOp>(op) ? cast<RankedTensorType>(op->getResult(0).getType()).getElementType() : Type();
  bool wide = produced && real && produced == mainTypeOf(real);
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (!wide && failed(check(type, llvm::is_contained(positions.results, i), "result " + Twine(i))))
      return failure();
  if (real && main && main != real && main != mainTypeOf(real))
    return op->emitOpError() << "(F1) expected " << mainTypeOf(real)
                             << " for statistics and gradients of parameters, got " << main;
  return success();
}
