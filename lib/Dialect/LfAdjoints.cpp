//===- LfAdjoints.cpp - Derivatives of the forward ops ----------*- C++ -*-===//
//
// Each adjoint uses its primal op's factor letters, so that it inherits its roles (P3).
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::lf;

/// Attributes of an op that its adjoint repeats (eps, kind, scale, ...).
static SmallVector<NamedAttribute> pick(Operation *op, ArrayRef<StringRef> names) {
  SmallVector<NamedAttribute> list;
  for (StringRef name : names)
    if (Attribute value = op->getAttr(name))
      list.emplace_back(StringAttr::get(op->getContext(), name), value);
  return list;
}

void MatmulOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  auto [inputs, result] = getSpec().split("->");
  auto [lhs, rhs] = inputs.split(',');
  auto product = [&](const Twine &spec, Type type, Value x, Value y) {
    return b.emit("lf.matmul", type, {x, y}, b.builder.getNamedAttr("spec", b.builder.getStringAttr(spec)))->getResult(0);
  };
  b.contribute(0, product(result + "," + rhs + "->" + lhs, getLhs().getType(), cotangents[0], b.get(getRhs())));
  b.contribute(1, product(lhs + "," + result + "->" + rhs, getRhs().getType(), b.get(getLhs()), cotangents[0]));
}

void SumOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  for (unsigned i = 0, n = getTerms().size(); i < n; ++i)
    b.contribute(i, cotangents[0]);
}

void BiasAddOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, cotangents[0]);
  b.contribute(1, b.emit("lf.bias_grad", getBias().getType(), cotangents[0])->getResult(0));
}

void RmsNormOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  Operation *grad = b.emit("lf.rms_norm_grad", {getX().getType(), getWeight().getType()}, {b.get(getX()), b.get(getWeight()), cotangents[0]},
                           pick(*this, {"eps"}));
  b.contribute(0, grad->getResult(0));
  b.contribute(1, grad->getResult(1));
}

void LayerNormOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  Operation *grad = b.emit("lf.layer_norm_grad", {getX().getType(), getWeight().getType(), getBias().getType()},
                           {b.get(getX()), b.get(getWeight()), cotangents[0]}, pick(*this, {"eps"}));
  for (unsigned i = 0; i < 3; ++i)
    b.contribute(i, grad->getResult(i));
}

void RopeOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  SmallVector<NamedAttribute> attributes = pick(*this, {"inv_freq", "scale"});
  if (!getInverse())
    attributes.push_back(b.builder.getNamedAttr("inverse", b.builder.getUnitAttr()));
  b.contribute(0, b.emit("lf.rope", getX().getType(), {cotangents[0], b.get(getPositions())}, attributes)->getResult(0));
}

void AttentionOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  Operation *grad = b.emit("lf.attention_grad", {getQ().getType(), getK().getType(), getV().getType()},
                           {b.get(getQ()), b.get(getK()), b.get(getV()), b.get(getQueryPositions()), b.get(getKeyPositions()),
                            b.get(getResult()), b.get(getLse()), cotangents[0]},
                           pick(*this, {"scale", "window"}));
  for (unsigned i = 0; i < 3; ++i)
    b.contribute(i, grad->getResult(i));
}

void ActivationOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, b.emit("lf.activation_grad", getX().getType(), {b.get(getX()), cotangents[0]}, pick(*this, {"kind"}))->getResult(0));
}

void GluOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  Operation *grad = b.emit("lf.glu_grad", {getGate().getType(), getUp().getType()}, {b.get(getGate()), b.get(getUp()), cotangents[0]},
                           pick(*this, {"kind"}));
  b.contribute(0, grad->getResult(0));
  b.contribute(1, grad->getResult(1));
}

void DropoutOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, b.emit("lf.dropout", getX().getType(), {cotangents[0], b.get(getPositions())}, pick(*this, {"p", "site"}))->getResult(0));
}

void EmbeddingOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(1, b.emit("lf.embedding_grad", getTable().getType(), {b.get(getIds()), cotangents[0]})->getResult(0));
}

void PositionEmbeddingOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, cotangents[0]);
  b.contribute(2, b.emit("lf.position_embedding_grad", getTable().getType(), {b.get(getPositions()), cotangents[0]})->getResult(0));
}

void CrossEntropyOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, b.emit("lf.cross_entropy_grad", getLogits().getType(),
                         {b.get(getLogits()), b.get(getMax()), b.get(getSumExp()), b.get(getLabels()), cotangents[0]}, pick(*this, {"valid"}))
                      ->getResult(0));
}

void SumAllOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(0, b.emit("lf.broadcast", getX().getType(), cotangents[0])->getResult(0));
}

void DepthLossOp::buildAdjoint(AdjointBuilder &b, ValueRange cotangents) {
  b.contribute(
      0, b.emit("lf.depth_weight", getX().getType(), cotangents[0], pick(*this, {"depth", "share"}))->getResult(0));
}
