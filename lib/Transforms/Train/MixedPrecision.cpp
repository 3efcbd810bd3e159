//===- MixedPrecision.cpp - Float32 where bfloat16 would lose ----*- C++ -*-===//
//
// lf-mixed-precision: statistics, losses and gradients of parameters of a bfloat16 model become float32, in place; who
// makes them rounds nothing, and nothing is converted.
//
//===----------------------------------------------------------------------===//
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFMIXEDPRECISION
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {

/// Whether v ends in accumulators of gradients alone.
bool isGradient(Value v) {
  return !v.use_empty() && llvm::all_of(v.getUsers(), [](Operation *user) {
    return isa<AccumulateOp>(user) || (isa<SumOp>(user) && isGradient(user->getResult(0)));
  });
}

void widen(Value v) {
  auto type = cast<RankedTensorType>(v.getType());
  if (type.getElementType().isBF16())
    v.setType(type.clone(mainTypeOf(type.getElementType())));
}

void widenBody(func::FuncOp function) {
  for (Operation &op : function.front()) {
    for (unsigned i : mainPositions(&op).results)
      widen(op.getResult(i));
    if (isa<MatmulOp, SumOp>(op) && isGradient(op.getResult(0)))
      widen(op.getResult(0));
  }
  function.setFunctionType(FunctionType::get(function.getContext(), function.front().getArgumentTypes(),
                                             function.front().getTerminator()->getOperandTypes()));
}

struct MixedPrecision : public mlir::lf::impl::LfMixedPrecisionBase<MixedPrecision> {
  void runOnOperation() override {
    for (auto forward : getOperation().getOps<func::FuncOp>()) {
      auto outputs = forward->getAttrOfType<IntegerAttr>("lf.outputs");
      if (forward.isExternal() || !outputs)
        continue;
      if (outputs.getInt() < 0 || outputs.getInt() > int64_t(forward.getNumResults())) {
        forward.emitError() << "expected \"lf.outputs\" of at most " << forward.getNumResults() << " results, got "
                            << outputs.getInt();
        return signalPassFailure();
      }
      widenBody(forward);
      auto backward = getOperation().lookupSymbol<func::FuncOp>((ownerOf(forward) + ".bwd").str());
      if (!backward || backward.isExternal())
        continue;
      // What the forward keeps are the last arguments of its backward, in order.
      TypeRange saved = TypeRange(forward.getResultTypes()).drop_front(outputs.getInt());
      if (saved.size() > backward.getNumArguments()) {
        backward.emitError() << "expected an argument for each of " << saved.size() << " values that @"
                             << forward.getSymName() << " keeps, got " << backward.getNumArguments() << " in all";
        return signalPassFailure();
      }
      for (auto [argument, type] : llvm::zip(backward.getArguments().take_back(saved.size()), saved))
        argument.setType(type);
      widenBody(backward);
    }
  }
};
} // namespace
