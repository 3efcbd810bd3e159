//===- BuildSchedule.cpp - One program for each pipeline rank ----*- C++ -*-===//
//
// lf-build-schedule: the order of lib/Schedule, with the messages between stages and the slot of each saved bundle.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/Messages.h"
#include "lf/Support/Error.h"
#include "lf/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <set>

namespace mlir::lf {
#define GEN_PASS_DEF_LFBUILDSCHEDULE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

static StringRef nameOf(::lf::Pass pass) { return pass == ::lf::Pass::F ? "forward" : pass == ::lf::Pass::B ? "backward" : "weight"; }

namespace {

/// Which slot a micro-batch's bundle lies in: the lowest that is free.
class Slots {
public:
  void take(int64_t microBatch) {
    if (free.empty())
      free.insert(int64_t(places.size()));
    places[microBatch] = *free.begin();
    free.erase(free.begin());
  }
  int64_t of(int64_t microBatch) const { return places.lookup(microBatch); }
  void release(int64_t microBatch) {
    free.insert(places.lookup(microBatch));
    places.erase(microBatch);
  }

private:
  llvm::DenseMap<int64_t, int64_t> places;
  std::set<int64_t> free; ///< below the highest that was ever taken
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
    int64_t count = stages.size();
    if (pp > 0 && (pp > count || chunks > count || pp * chunks != count)) {
      module.emitError() << "expected an lf.stage for each of " << pp << " pipeline ranks x " << chunks << " chunks, got " << count;
      return signalPassFailure();
    }
    try {
      ::lf::ScheduleKind kind = ::lf::parseSchedule(std::string_view(schedule.getValue()));
      ::lf::PipelineSchedule order = ::lf::buildSchedule(kind, {pp, chunks, microBatches, groupSize, false, overlapP2p});
      if (failed(checkStages(order.problem)))
        return signalPassFailure();
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfter(stages.back());
      for (auto [rank, events] : llvm::enumerate(::lf::insertMessages(order.problem, order.programs, order.receives)))
        if (failed(emit(builder, order, rank, events)))
          return signalPassFailure();
    } catch (const ::lf::Error &error) {
      InFlightDiagnostic diag = module.emitError() << error.what();
      for (const std::string &note : error.notes)
        diag.attachNote() << note;
      return signalPassFailure();
    }
  }

  /// The stages are where the schedule looks for them, and weight gradients are split off exactly when it runs them.
  LogicalResult checkStages(const ::lf::SchedulingProblem &problem) {
    ::lf::Placement place = problem.place();
    for (auto [index, stage] : llvm::enumerate(stages))
      if (int64_t(stage.getPp()) != place.rankOf(index) || int64_t(stage.getChunk()) != place.chunkOf(index))
        return stage.emitError() << "expected stage " << index << " on pipeline rank " << place.rankOf(index) << ", chunk " << place.chunkOf(index)
                                 << ", where schedule \"" << schedule << "\" runs it, got rank " << stage.getPp() << ", chunk " << stage.getChunk();
    bool split = llvm::any_of(getOperation().getOps<func::FuncOp>(), [](func::FuncOp f) { return f.getSymName().ends_with(".wgrad"); });
    if (split != problem.splitWeightGradient && !getOperation().getOps<func::FuncOp>().empty())
      return getOperation().emitError() << "expected " << (split ? "no functions" : "functions") << " \"@*.wgrad\" for schedule \"" << schedule
                                        << "\", got " << (split ? "some: leave out lf-split-backward" : "none: run lf-split-backward first");
    return success();
  }

  LogicalResult emit(OpBuilder &builder, const ::lf::PipelineSchedule &order, int64_t rank, const std::vector<::lf::Event> &events) {
    const ::lf::SchedulingProblem &problem = order.problem;
    Location loc = stages.front().getLoc();
    auto program = ProgramOp::create(builder, loc, "pp" + std::to_string(rank), rank, order.buffers);
    OpBuilder body = OpBuilder::atBlockBegin(&program.getBody().emplaceBlock());
    SmallVector<Slots> slots(problem.chunks);
    ::lf::Pass last = problem.splitWeightGradient ? ::lf::Pass::W : ::lf::Pass::B;
    std::optional<::lf::Action> current;
    for (const ::lf::Event &event : events) {
      const ::lf::Action &action = event.action;
      int64_t index = problem.place().stageOf(rank, action.chunk);
      StageOp stage = stages[index];
      auto symbol = [&](int64_t i) { return FlatSymbolRefAttr::get(stages[i].getSymNameAttr()); };
      bool forward = action.pass == ::lf::Pass::F;
      StringAttr pass = body.getStringAttr(nameOf(action.pass));
      if (event.kind == ::lf::EventKind::post) { // of a later action, whose bundle has no slot yet
        PostRecvOp::create(body, loc, pass, symbol(index), symbol(forward ? index - 1 : index + 1),
                           body.getI64IntegerAttr(action.microBatch));
        continue;
      }
      if (forward && current != action)
        slots[action.chunk].take(action.microBatch);
      IntegerAttr microBatch = body.getI64IntegerAttr(action.microBatch), slot = body.getI64IntegerAttr(slots[action.chunk].of(action.microBatch));
      if (forward && current != action && stage.takesTokens())
        LoadBatchOp::create(body, loc, symbol(index), microBatch, slot);
      current = action;
      switch (event.kind) {
      case ::lf::EventKind::post: break;
      case ::lf::EventKind::wait:
      case ::lf::EventKind::receive:
        RecvOp::create(body, loc, pass, symbol(index), symbol(forward ? index - 1 : index + 1), microBatch, slot,
                       event.kind == ::lf::EventKind::wait ? body.getUnitAttr() : UnitAttr());
        break;
      case ::lf::EventKind::run: RunOp::create(body, loc, pass, symbol(index), microBatch, slot); break;
      case ::lf::EventKind::send: SendOp::create(body, loc, pass, symbol(index), symbol(forward ? index + 1 : index - 1), microBatch, slot); break;
      }
      const ::lf::Event *next = &event + 1, *end = events.data() + events.size();
      while (next != end && next->kind == ::lf::EventKind::post)
        ++next;
      bool lastLine = next == end || next->action != action;
      if (lastLine && action.pass == last)
        slots[action.chunk].release(action.microBatch);
    }
    SyncGradsOp::create(body, loc);
    OptimizerStepOp::create(body, loc, "adamw");
    return success();
  }

  SmallVector<StageOp> stages; // in stage order
};
} // namespace
