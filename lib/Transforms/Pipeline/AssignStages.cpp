//===- AssignStages.cpp - The chain cut into stages --------------*- C++ -*-===//
//
// lf-assign-stages: the layout string, or equal parts, as lf.stage ops.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/DefaultSplit.h"
#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFASSIGNSTAGES
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct AssignStages : public mlir::lf::impl::LfAssignStagesBase<AssignStages> {
  using LfAssignStagesBase::LfAssignStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto chains = module.getOps<ChainOp>();
    if (chains.empty()) {
      module.emitError() << "expected an lf.chain, got none";
      return signalPassFailure();
    }
    ChainOp chain = *chains.begin();
    if (std::next(chains.begin()) != chains.end()) {
      (*std::next(chains.begin())).emitError() << "expected one lf.chain in a module, got a second";
      return signalPassFailure();
    }
    SmallVector<Attribute> kinds; // of each layer
    for (auto [kind, count] : llvm::zip(chain.getLayers(), chain.getCounts()))
      kinds.append(count, kind);
    try {
      ::lf::StageLayout stages = resolve(kinds.size(), chain.getDepths());
      OpBuilder builder(chain);
      builder.setInsertionPointAfter(chain);
      for (const ::lf::PipelineStage &stage : stages.stages)
        emit(builder, chain, stage, kinds);
    } catch (const ::lf::Error &error) {
      InFlightDiagnostic diag = chain.emitError() << error.what();
      for (const std::string &note : error.notes)
        diag.attachNote() << note;
      return signalPassFailure();
    }
  }

  ::lf::StageLayout resolve(int64_t layers, int64_t depths) {
    ::lf::LayoutRequest request;
    request.pp = pp;
    request.layers = layers;
    request.placement = vee ? ::lf::PlacementKind::vee : ::lf::PlacementKind::roundRobin;
    request.mtp = depths;
    if (!layout.empty())
      return ::lf::resolveLayout(std::string_view(layout.getValue()), request);
    ::lf::SplitRequest split;
    split.pp = pp;
    split.vpp = vpp;
    split.layers = layers;
    split.placement = request.placement;
    split.mtp = depths;
    std::vector<std::string> stages = ::lf::defaultSplit(split);
    return ::lf::placeStages(stages, {request.placement, pp, int64_t(stages.size()) / pp});
  }

  void emit(OpBuilder &builder, ChainOp chain, const ::lf::PipelineStage &stage, ArrayRef<Attribute> kinds) {
    SmallVector<Attribute> runs;
    SmallVector<int64_t> counts;
    for (int64_t layer : stage.layers) {
      if (runs.empty() || runs.back() != kinds[layer]) {
        runs.push_back(kinds[layer]);
        counts.push_back(0);
      }
      ++counts.back();
    }
    SmallVector<Attribute> tail;
    if (chain.getFinal() && llvm::is_contained(stage.layers, int64_t(kinds.size()) - 1))
      tail.push_back(chain.getFinalAttr());
    if (!stage.mtp.empty())
      tail.push_back(chain.getMtpAttr());
    StageOp::create(builder, chain.getLoc(), "stage" + std::to_string(stage.stage), stage.pp, stage.chunk,
                    stage.items.find('E') != std::string::npos, builder.getArrayAttr(runs), counts,
                    stage.layers.empty() ? 0 : stage.layers.front(),
                    tail.empty() ? ArrayAttr() : builder.getArrayAttr(tail),
                    stage.items.find('L') != std::string::npos);
  }
};
} // namespace
