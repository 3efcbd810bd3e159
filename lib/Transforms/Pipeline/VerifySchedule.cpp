//===- VerifySchedule.cpp - No hang, proven before anything runs -*- C++ -*-===//
//
// lf-verify-schedule: reads the programs as they stand (not the schedule that made them), so that a pass that moved a line
// is judged too.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/VerifySchedule.h"
#include "lf/Transforms/Passes.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFVERIFYSCHEDULE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct VerifySchedule : public mlir::lf::impl::LfVerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
    if (programs.empty()) {
      module.emitError() << "expected lf.program ops, got none: run lf-build-schedule first";
      return signalPassFailure();
    }
    for (ProgramOp program : programs)
      if (failed(checkLines(program)))
        return signalPassFailure();
    ::lf::SchedulingProblem problem;
    problem.ranks = programs.size();
    ::lf::Programs orders(programs.size());
    for (auto [rank, program] : llvm::enumerate(programs))
      for (RunOp run : program.getBody().front().getOps<RunOp>()) {
        auto stage = module.lookupSymbol<StageOp>(run.getStage());
        if (!stage)
          continue; // checkLines has refused it
        problem.chunks = std::max<int64_t>(problem.chunks, stage.getChunk() + 1);
        problem.microBatches = std::max<int64_t>(problem.microBatches, run.getMicroBatch() + 1);
        orders[rank].push_back({run.getPass() == "forward" ? ::lf::Pass::F : ::lf::Pass::B, int64_t(run.getMicroBatch()), int64_t(stage.getChunk())});
      }
    // Sends return when the data may be reused; every transport holds as many messages of a channel as a program states.
    int64_t buffers = 1;
    for (ProgramOp program : programs)
      buffers = std::max<int64_t>(buffers, program.getBuffers());
    ::lf::Verification verdict = ::lf::verifySchedule(problem, orders, buffers);
    for (const ::lf::ScheduleFault &fault : verdict.faults)
      programs[fault.rank].emitError() << "(" << fault.rule << ") " << fault.message;
    if (!verdict.ok())
      signalPassFailure();
  }

  /// Around each run stand its messages: the receive before, the send after, of this stage, pass and micro-batch.
  LogicalResult checkLines(ProgramOp program) {
    auto module = getOperation();
    SmallVector<StageOp> stages(module.getOps<StageOp>());
    auto number = [&](StringRef name) {
      return int64_t(llvm::find_if(stages, [&](StageOp stage) { return stage.getSymName() == name; }) - stages.begin());
    };
    int64_t count = stages.size();
    bool synced = false, stepped = false;
    Operation *previous = nullptr;
    for (Operation &line : program.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(line)) {
        int64_t at = number(run.getStage());
        if (at == count || int64_t(stages[at].getPp()) != int64_t(program.getPp()))
          return run.emitError() << "expected a stage of pipeline rank " << program.getPp() << ", got " << run.getStageAttr();
        bool forward = run.getPass() == "forward";
        if (!forward && run.getPass() != "backward")
          return run.emitError() << "expected pass \"forward\" or \"backward\", got \"" << run.getPass() << "\"";
        int64_t from = forward ? at - 1 : at + 1, to = forward ? at + 1 : at - 1;
        auto recv = dyn_cast_or_null<RecvOp>(previous);
        if (from >= 0 && from < count &&
            (!recv || recv.getTo() != run.getStage() || number(recv.getFrom()) != from || recv.getPass() != run.getPass() ||
             recv.getMicroBatch() != run.getMicroBatch() || recv.getSlot() != run.getSlot()))
          return run.emitError() << "expected the receive from stage " << from << " of micro-batch " << run.getMicroBatch() << " before this line";
        auto send = dyn_cast_or_null<SendOp>(line.getNextNode());
        if (to >= 0 && to < count &&
            (!send || send.getFrom() != run.getStage() || number(send.getTo()) != to || send.getPass() != run.getPass() ||
             send.getMicroBatch() != run.getMicroBatch()))
          return run.emitError() << "expected the send to stage " << to << " of micro-batch " << run.getMicroBatch() << " after this line";
      }
      if (synced && !isa<OptimizerStepOp>(line))
        return line.emitError() << "expected lf.optimizer_step after lf.sync_grads, got \"" << line.getName() << "\"";
      synced = synced || isa<SyncGradsOp>(line);
      stepped = stepped || isa<OptimizerStepOp>(line);
      previous = &line;
    }
    if (!synced || !stepped)
      return program.emitError() << "expected a program to end in lf.sync_grads and lf.optimizer_step, got none";
    return success();
  }
};
} // namespace
