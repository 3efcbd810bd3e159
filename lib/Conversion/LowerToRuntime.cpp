//===- LowerToRuntime.cpp - From programs on tensors to programs on bytes -*- C++ -*-===//
//
// The order of the parts: stages, bundles and places first, since bodies and programs point at them.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

namespace mlir::lfrt {
#define GEN_PASS_DEF_LFLOWERTORUNTIME
#include "lf/Dialect/LfrtPasses.h.inc"

namespace {
struct LowerToRuntime : impl::LfLowerToRuntimeBase<LowerToRuntime> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    lf::MeshOp mesh = lf::MeshOp::find(module);
    // Also when somebody runs this pass alone: what follows relies on it.
    if (failed(verifyLowerable(module)))
      return signalPassFailure();
    SmallVector<Operation *> before;
    for (Operation &op : *module.getBody())
      before.push_back(&op);
    Lowering l(module, mesh);
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    collectStages(l);
    layOutBundles(l);
    placeParameters(l);
    lowerBodies(l, b);
    writeTables(l, b, lowerPrograms(l, b));
    writeMessages(l, b);
    for (Operation *op : before)
      op->erase();
  }
};
} // namespace

} // namespace mlir::lfrt
