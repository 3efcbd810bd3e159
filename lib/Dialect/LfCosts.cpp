//===- LfCosts.cpp - Floating-point operations of the model ops -*- C++ -*-===//
//
// Products count two operations for each multiply-add; elementwise ops count one for each element and pass over it.
// Attention counts the visible half of the score matrix.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"

using namespace mlir;
using namespace mlir::lf;

static int64_t elements(Value v) { return cast<RankedTensorType>(v.getType()).getNumElements(); }

int64_t MatmulOp::getFlops() {
  int64_t product = 2;
  for (auto [factor, size] : factorSizes(*this))
    product *= size;
  return product;
}

/// Two products (scores, values) over the keys that causality and the window leave visible.
static int64_t visiblePairs(int64_t s, int64_t t, int64_t window) {
  int64_t keys = window > 0 && window < t ? window : (t + 1) / 2;
  return s * keys;
}
int64_t AttentionOp::getFlops() {
  auto size = factorSizes(*this);
  return 4 * visiblePairs(size['s'], size['t'], getWindow()) * size['b'] * size['g'] * size['r'] * size['d'];
}
int64_t AttentionGradOp::getFlops() {
  auto size = factorSizes(*this);
  return 10 * visiblePairs(size['s'], size['t'], getWindow()) * size['b'] * size['g'] * size['r'] * size['d'];
}

int64_t SumOp::getFlops() { return (getTerms().size() - 1) * elements(getResult()); }
int64_t BiasAddOp::getFlops() { return elements(getX()); }
int64_t BiasGradOp::getFlops() { return elements(getDy()); }
int64_t RmsNormOp::getFlops() { return 4 * elements(getX()); }
int64_t RmsNormGradOp::getFlops() { return 9 * elements(getX()); }
int64_t LayerNormOp::getFlops() { return 6 * elements(getX()); }
int64_t LayerNormGradOp::getFlops() { return 12 * elements(getX()); }
int64_t RopeOp::getFlops() { return 3 * elements(getX()); }
int64_t ActivationOp::getFlops() { return 4 * elements(getX()); }
int64_t ActivationGradOp::getFlops() { return 8 * elements(getX()); }
int64_t GluOp::getFlops() { return 5 * elements(getGate()); }
int64_t GluGradOp::getFlops() { return 10 * elements(getGate()); }
int64_t DropoutOp::getFlops() { return 2 * elements(getX()); }
int64_t EmbeddingOp::getFlops() { return 0; }
int64_t EmbeddingGradOp::getFlops() { return elements(getDy()); }
int64_t PositionEmbeddingOp::getFlops() { return elements(getX()); }
int64_t PositionEmbeddingGradOp::getFlops() { return elements(getDy()); }
int64_t CrossEntropyOp::getFlops() { return 4 * elements(getLogits()); }
int64_t CrossEntropyGradOp::getFlops() { return 4 * elements(getLogits()); }
int64_t RowMaxOp::getFlops() { return elements(getLogits()); }
int64_t SumExpOp::getFlops() { return 3 * elements(getLogits()); }
int64_t PickOp::getFlops() { return 0; }
int64_t NllOp::getFlops() { return 3 * elements(getResult()); }
int64_t SumAllOp::getFlops() { return elements(getX()); }
int64_t CountOp::getFlops() { return elements(getLabels()); }
int64_t DepthLossOp::getFlops() { return 0; }
int64_t DepthWeightOp::getFlops() { return 1; }
int64_t BroadcastOp::getFlops() { return 0; }
int64_t FillOp::getFlops() { return 0; }
