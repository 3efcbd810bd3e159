//===- Kernels.cpp - Model ops as launches -----------------------*- C++ -*-===//
//
// One line for each op of dialects/lf/LfModelOps.td: its kernel and the constants that it is called with.
//
//===----------------------------------------------------------------------===//
#include "BodyLowering.h"
#include "lf/Conversion/Gemm.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::lfrt {

static int64_t count(Value v) { return tensorOf(v).getNumElements(); }
static int64_t dim(Value v, int64_t n) { return tensorOf(v).getDimSize(n < 0 ? n + tensorOf(v).getRank() : n); }

void BodyLowering::launch(Operation *op, StringRef kernel, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
                          ArrayRef<Attribute> args) {
  std::string what = isa<func::ReturnOp>(op) ? "output" : label(op);
  LaunchOp::create(b, op->getLoc(), kernel, what, inputs, outputs, b.getArrayAttr(args));
}

void BodyLowering::launch(Operation *op, StringRef kernel, ArrayRef<Attribute> args) {
  SmallVector<Value> inputs, outputs;
  for (Value v : op->getOperands())
    inputs.push_back(get(v));
  for (Value v : op->getResults())
    outputs.push_back(result(v));
  launch(op, kernel, inputs, outputs, args);
}

Attribute BodyLowering::shard(Operation *op, char factor, int64_t scale) const {
  if (auto shards = op->getAttrOfType<lf::RolesAttr>("shards"))
    if (auto axes = dyn_cast_or_null<ArrayAttr>(shards.getFactors().get(StringRef(&factor, 1))))
      return l.groups.coordinate(lf::axesOf(axes), scale);
  return i(0);
}

lf::AccumulateOp BodyLowering::accumulatorOf(Value v) const {
  return usedOnce(v) ? dyn_cast<lf::AccumulateOp>(*v.user_begin()) : lf::AccumulateOp();
}

Value BodyLowering::gradientOf(lf::AccumulateOp op) {
  return parameter(op.getOwner().value_or(kind.name), op.getName(), op.getGradient().getType(), true);
}

void BodyLowering::lowerMatmul(lf::MatmulOp op) {
  std::string why;
  auto gemm =
      *::lf::asGemm(op.getSpec(), tensorOf(op.getLhs()).getShape().vec(), tensorOf(op.getRhs()).getShape().vec(), why);
  Value lhs = get(op.getLhs()), rhs = get(op.getRhs()), out;
  lf::AccumulateOp into = accumulatorOf(op.getResult());
  out = into ? gradientOf(into) : result(op.getResult());
  if (gemm.swapped)
    std::swap(lhs, rhs);
  launch(op, "matmul", {lhs, rhs}, {out},
         {i(gemm.m), i(gemm.n), i(gemm.k), i(gemm.transA), i(gemm.transB), i(into ? 1 : 0)});
}

void BodyLowering::lowerAccumulate(lf::AccumulateOp op) {
  Value x = get(op.getGradient());
  if (!x) // Its op went straight into the gradient.
    return;
  Value gradient = gradientOf(op);
  LaunchOp::create(b, op.getLoc(), "accumulate", (op.getName() + "_grad").str(), ValueRange(x), ValueRange(gradient),
                   b.getArrayAttr({i(count(op.getGradient()))}));
}

void BodyLowering::lower(Operation *op) {
  if (lowerCollective(op) || isa<lf::DepthLossOp>(op)) // The latter is its operand; see aliasesOf.
    return;
  auto rowsOf = [&](Value x, int64_t cols) { return i(count(x) / cols); };
  auto norm = [&](StringRef kernel, Value x, APFloat eps) {
    launch(op, kernel, {rowsOf(x, dim(x, -1)), i(dim(x, -1)), b.getF64FloatAttr(eps.convertToDouble())});
  };
  auto attention = [&](StringRef kernel, Value q, Value k, APFloat scale, int64_t window) {
    launch(op, kernel,
           {i(dim(q, 0)), i(dim(k, 0)), i(dim(q, 1)), i(dim(q, 2)), i(dim(q, 3)), i(dim(q, 4)),
            b.getF64FloatAttr(scale.convertToDouble()), i(window)});
  };
  auto logits = [&](StringRef kernel, Value x, std::optional<int64_t> valid) {
    SmallVector<Attribute> args = {rowsOf(x, dim(x, -1)), i(dim(x, -1)), shard(op, 'v', dim(x, -1))};
    if (valid)
      args.push_back(i(*valid));
    launch(op, kernel, args);
  };
  TypeSwitch<Operation *>(op)
      .Case([&](lf::ParamOp o) {
        buffers[o.getResult()] = parameter(o.getOwner().value_or(kind.name), o.getName(), o.getType(), false);
      })
      .Case([&](lf::AccumulateOp o) { lowerAccumulate(o); })
      .Case([&](lf::MatmulOp o) { lowerMatmul(o); })
      .Case([&](lf::SumOp o) { launch(op, "sum", {i(count(o.getResult()))}); })
      .Case([&](lf::BiasAddOp o) {
        launch(op, "bias_add", {rowsOf(o.getX(), count(o.getBias())), i(count(o.getBias()))});
      })
      .Case([&](lf::BiasGradOp o) {
        launch(op, "bias_grad", {rowsOf(o.getDy(), count(o.getResult())), i(count(o.getResult()))});
      })
      .Case([&](lf::RmsNormOp o) { norm("rms_norm", o.getX(), o.getEps()); })
      .Case([&](lf::RmsNormGradOp o) { norm("rms_norm_grad", o.getX(), o.getEps()); })
      .Case([&](lf::LayerNormOp o) { norm("layer_norm", o.getX(), o.getEps()); })
      .Case([&](lf::LayerNormGradOp o) { norm("layer_norm_grad", o.getX(), o.getEps()); })
      .Case([&](lf::RopeOp o) {
        Value x = o.getX();
        int64_t s = dim(x, 0), n = dim(x, 1), d = dim(x, -1);
        launch(op, "rope",
               {i(s), i(n), i(count(x) / (s * n * d)), i(d), o.getInvFreqAttr(),
                b.getF64FloatAttr(o.getScale().convertToDouble()), i(o.getInverse() ? 1 : 0)});
      })
      .Case([&](lf::AttentionOp o) { attention("attention", o.getQ(), o.getK(), o.getScale(), o.getWindow()); })
      .Case(
          [&](lf::AttentionGradOp o) { attention("attention_grad", o.getQ(), o.getK(), o.getScale(), o.getWindow()); })
      .Case([&](lf::ActivationOp o) {
        launch(op, "activation", {i(count(o.getX())), o.getKindAttr()});
      })
      .Case([&](lf::ActivationGradOp o) {
        launch(op, "activation_grad", {i(count(o.getX())), o.getKindAttr()});
      })
      .Case([&](lf::GluOp o) {
        launch(op, "glu", {i(count(o.getGate())), o.getKindAttr()});
      })
      .Case([&](lf::GluGradOp o) {
        launch(op, "glu_grad", {i(count(o.getGate())), o.getKindAttr()});
      })
      .Case([&](lf::DropoutOp o) {
        Value x = o.getX();
        launch(op, "dropout",
               {i(dim(x, 0)), i(dim(x, 1)), i(dim(x, 2)), b.getF64FloatAttr(o.getP().convertToDouble()), i(o.getSite()),
                shard(op, 'b', dim(x, 1)), shard(op, 'h', dim(x, 2))});
      })
      .Case([&](lf::EmbeddingOp o) {
        Value t = o.getTable();
        launch(op, "embedding", {i(count(o.getIds())), i(dim(t, 0)), i(dim(t, 1)), shard(op, 'v', dim(t, 0))});
      })
      .Case([&](lf::EmbeddingGradOp o) {
        Value t = o.getResult();
        lf::AccumulateOp into = accumulatorOf(t);
        Value out = into ? gradientOf(into) : result(t);
        launch(op, "embedding_grad", {get(o.getIds()), get(o.getDy())}, {out},
               {i(count(o.getIds())), i(dim(t, 0)), i(dim(t, 1)), shard(op, 'v', dim(t, 0)), i(into ? 1 : 0)});
      })
      .Case([&](lf::PositionEmbeddingOp o) {
        Value x = o.getX();
        launch(op, "position_embedding", {i(dim(x, 0)), i(dim(x, 1)), i(dim(x, 2))});
      })
      .Case([&](lf::PositionEmbeddingGradOp o) {
        Value dy = o.getDy();
        launch(op, "position_embedding_grad", {i(dim(dy, 0)), i(dim(dy, 1)), i(dim(dy, 2)), i(dim(o.getResult(), 0))});
      })
      .Case([&](lf::RowMaxOp o) { logits("row_max", o.getLogits(), o.getValid()); })
      .Case([&](lf::SumExpOp o) { logits("sum_exp", o.getLogits(), o.getValid()); })
      .Case([&](lf::PickOp o) { logits("pick", o.getLogits(), std::nullopt); })
      .Case([&](lf::CrossEntropyGradOp o) { logits("cross_entropy_grad", o.getLogits(), o.getValid()); })
      .Case([&](lf::NllOp o) { launch(op, "nll", {i(count(o.getResult()))}); })
      .Case([&](lf::SumAllOp o) { launch(op, "sum_all", {i(count(o.getX()))}); })
      .Case([&](lf::CountOp o) { launch(op, "count", {i(count(o.getLabels()))}); })
      .Case([&](lf::DepthWeightOp o) {
        launch(op, "depth_weight", {i(o.getDepth()), o.getShareAttr()});
      })
      .Case([&](lf::BroadcastOp o) { launch(op, "broadcast", {i(count(o.getResult()))}); })
      .Case([&](lf::FillOp o) {
        launch(op, "fill", {b.getF64FloatAttr(o.getValue().convertToDouble()), i(count(o.getResult()))});
      })
      .Default([](Operation *) { llvm_unreachable("lf-verify-lowerable refuses other ops"); });
}

} // namespace mlir::lfrt
