//===- BuildSchedule.cpp - One program for each pipeline rank ----*- C++ -*-===//
//
// lf-build-schedule: the order of lib/Schedule, with the messages between stages and the slot of each saved bundle.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"
#include "lf/Support/Error.h"
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFBUILDSCHEDULE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {

/// Which slot a micro-batch's bundle lies in: the lowest that is free.
class Slots {
public:
  int64_t take(int64_t microBatch) {
    auto free = llvm::find(owners, -1);
    if (free == owners.end())
      free = owners.insert(owners.end(), -1);
    *free = microBatch;
    return free - owners.begin();
  }
  int64_t release(int64_t microBatch) {
    auto it = llvm::find(owners, microBatch);
    *it = -1;
    return it - owners.begin();
  }

private:
  SmallVector<int64_t> owners;
};

struct BuildSchedule : public mlir::lf::impl::LfBuildScheduleBase<BuildSchedule> {
  using LfBuildScheduleBase::LfBuildScheduleBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    stages.assign(module.getOps<StageOp>().begin(), module.getOps<StageOp>().end());
    if (stages.empty()) {
      module.emitError() << "expected lf.stage ops, got none: run lf-assign-stages first";
      return signalPassFailure();
    }
    int64_t pp = 0, chunks = 0;
    for (StageOp stage : stages) {
      pp = std::max<int64_t>(pp, stage.getPp() + 1);
      chunks = std::max<int64_t>(chunks, stage.getChunk() + 1);
    }
    try {
      ::lf::PipelineSchedule order = ::lf::buildSchedule(::lf::parseSchedule(std::string_view(schedule.getValue())), {pp, chunks, microBatches});
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(stages.back());
      for (auto [rank, actions] : llvm::enumerate(order.programs))
        if (failed(emit(builder, order, rank, actions)))
          return signalPassFailure();
    } catch (const ::lf::Error &error) {
      InFlightDiagnostic diag = module.emitError() << error.what();
      for (const std::string &note : error.notes)
        diag.attachNote() << note;
      return signalPassFailure();
    }
  }

  LogicalResult emit(OpBuilder &builder, const ::lf::PipelineSchedule &order, int64_t rank, const ::lf::Program &actions) {
    const ::lf::SchedulingProblem &problem = order.problem;
    Location loc = stages.front().getLoc();
    auto program = ProgramOp::create(builder, loc, "pp" + std::to_string(rank), rank, order.buffers);
    OpBuilder body = OpBuilder::atBlockBegin(&program.getBody().emplaceBlock());
    SmallVector<Slots> slots(problem.chunks);
    for (const ::lf::Action &action : actions) {
      int64_t index = problem.place().stageOf(rank, action.chunk);
      StageOp stage = stages[index];
      auto symbol = [&](int64_t i) { return FlatSymbolRefAttr::get(stages[i].getSymNameAttr()); };
      bool forward = action.pass == ::lf::Pass::F;
      if (action.pass == ::lf::Pass::W)
        return stage.emitError() << "expected a schedule of forward and backward passes, got a split weight gradient";
      int64_t slot = forward ? slots[action.chunk].take(action.microBatch) : slots[action.chunk].release(action.microBatch);
      StringAttr pass = body.getStringAttr(forward ? "forward" : "backward");
      int64_t last = stages.size() - 1, from = forward ? index - 1 : index + 1, to = forward ? index + 1 : index - 1;
      if (forward && (stage.getEmbed() || stage.getHead()))
        LoadBatchOp::create(body, loc, symbol(index), body.getI64IntegerAttr(action.microBatch), body.getI64IntegerAttr(slot));
      if (from >= 0 && from <= last)
        RecvOp::create(body, loc, pass, symbol(index), symbol(from), body.getI64IntegerAttr(action.microBatch), body.getI64IntegerAttr(slot));
      RunOp::create(body, loc, pass, symbol(index), body.getI64IntegerAttr(action.microBatch), body.getI64IntegerAttr(slot));
      if (to >= 0 && to <= last)
        SendOp::create(body, loc, pass, symbol(index), symbol(to), body.getI64IntegerAttr(action.microBatch), body.getI64IntegerAttr(slot));
    }
    SyncGradsOp::create(body, loc);
    OptimizerStepOp::create(body, loc, "adamw");
    return success();
  }

  SmallVector<StageOp> stages; // in stage order
};
} // namespace
