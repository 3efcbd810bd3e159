//===- ExpandCrossEntropy.cpp - Cross entropy by factors --------*- C++ -*-===//
//
// lf-expand-cross-entropy: row_max, sum_exp, pick and nll, whose results become partial by the ordinary rule.
//
//===----------------------------------------------------------------------===//
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFEXPANDCROSSENTROPY
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct ExpandCrossEntropy : public mlir::lf::impl::LfExpandCrossEntropyBase<ExpandCrossEntropy> {
  void runOnOperation() override {
    SmallVector<CrossEntropyOp> ops;
    getOperation().walk([&](CrossEntropyOp op) { ops.push_back(op); });
    for (CrossEntropyOp op : ops) {
      if (!op->getParentOfType<func::FuncOp>()) {
        op.emitError() << "expected lf.cross_entropy in a function, got it outside";
        return signalPassFailure();
      }
      expand(op);
    }
  }

  void expand(CrossEntropyOp op) {
    auto function = op->getParentOfType<func::FuncOp>();
    int64_t next = 0;
    function.walk([&](Operation *other) {
      if (auto id = other->getAttrOfType<IntegerAttr>("id"))
        next = std::max(next, id.getInt() + 1);
    });
    OpBuilder builder(op);
    bool numbered = bool(op->getAttr("id"));
    auto emit = [&](StringRef name, Type type, ValueRange operands, bool valid, Attribute id) {
      OperationState state(op.getLoc(), name);
      state.addOperands(operands);
      state.addTypes(type);
      if (valid)
        state.addAttribute("valid", op.getValidAttr());
      if (numbered)
        state.addAttribute("id", id);
      return builder.create(state)->getResult(0);
    };
    // row_max keeps the number of cross_entropy: it has all factors, so the adjoint takes its roles.
    Attribute id = op->getAttr("id");
    auto fresh = [&]() { return builder.getI64IntegerAttr(next++); };
    Value max = emit("lf.row_max", op.getMax().getType(), op.getLogits(), true, id);
    Value sum = emit("lf.sum_exp", op.getSumExp().getType(), {op.getLogits(), max}, true, fresh());
    Value target = emit("lf.pick", op.getNll().getType(), {op.getLogits(), op.getLabels()}, false, fresh());
    IntegerAttr nllId = fresh();
    Value nll = emit("lf.nll", op.getNll().getType(), {sum, max, target, op.getLabels()}, false, nllId);
    if (numbered)
      relink(function, cast<IntegerAttr>(id).getInt(), nllId.getInt());
    op.replaceAllUsesWith(ValueRange{nll, max, sum});
    op.erase();
  }

  /// The cotangent of the loss of each token is now that of nll.
  void relink(func::FuncOp forward, int64_t from, int64_t to) {
    auto backward = getOperation().lookupSymbol<func::FuncOp>((ownerOf(forward) + ".bwd").str());
    if (!backward || backward.isExternal())
      return;
    std::string old = "cotangent:" + std::to_string(from) + ".0", now = "cotangent:" + std::to_string(to) + ".0";
    for (unsigned i = 0; i < backward.getNumArguments(); ++i)
      if (auto link = backward.getArgAttrOfType<StringAttr>(i, "lf.link"); link && link.getValue() == old)
        backward.setArgAttr(i, "lf.link", StringAttr::get(backward.getContext(), now));
    backward.walk([&](Operation *op) {
      auto links = op->getAttrOfType<ArrayAttr>("links");
      if (!links)
        return;
      SmallVector<Attribute> list(links.begin(), links.end());
      for (Attribute &link : list)
        if (cast<StringAttr>(link).getValue() == old)
          link = StringAttr::get(op->getContext(), now);
      op->setAttr("links", ArrayAttr::get(op->getContext(), list));
    });
  }
};
} // namespace
