//===- VerifyPartitioned.cpp - No layout decision is left -------*- C++ -*-===//
//
// lf-verify-partitioned: ends the sharded level.
//
//===----------------------------------------------------------------------===//
#include "lf/Transforms/Passes.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFVERIFYPARTITIONED
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct VerifyPartitioned : public mlir::lf::impl::LfVerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    bool ok = true;
    getOperation().walk([&](Operation *op) {
      for (StringRef decision : {"seed", "pin", "homes", "roles", "id", "of", "links"})
        if (isa<ShardingRuleInterface>(op) && op->hasAttr(decision)) {
          op->emitError() << "expected no \"" << decision << "\" after lf-partition, got one";
          ok = false;
        }
      if (auto accumulate = dyn_cast<AccumulateOp>(op); accumulate && !accumulate.getLayoutAttr()) {
        op->emitError() << "expected a layout on each lf.accumulate after lf-partition, got none";
        ok = false;
      }
      if (auto declare = dyn_cast<DeclareOp>(op); declare && !declare.getGradientAttr()) {
        op->emitError() << "expected a gradient of parameter \"" << declare.getOwner() << "." << declare.getName() << "\", got none";
        ok = false;
      }
      if (isa<CrossEntropyOp>(op)) {
        op->emitError() << "expected lf.cross_entropy to be expanded, got it";
        ok = false;
      }
    });
    if (!ok)
      signalPassFailure();
  }
};
} // namespace
