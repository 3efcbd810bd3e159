//===- VerifySchedule.cpp - No hang, proven before anything runs -*- C++ -*-===//
//
// lf-verify-schedule: reads the programs as they stand (not the schedule that made them), so that a pass that moved a line
// is judged too.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/VerifySchedule.h"
#include "lf/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

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
    stages.assign(module.getOps<StageOp>().begin(), module.getOps<StageOp>().end());
    ::lf::SchedulingProblem problem;
    problem.ranks = programs.size();
    if (failed(checkStages(problem)))
      return signalPassFailure();
    module.walk([&](RunOp run) { problem.splitWeightGradient |= run.getPass() == "weight"; });
    for (auto [rank, program] : llvm::enumerate(programs))
      if (failed(checkLines(program, rank)))
        return signalPassFailure();
    ::lf::Programs orders(programs.size());
    for (auto [rank, program] : llvm::enumerate(programs))
      for (RunOp run : program.getBody().front().getOps<RunOp>()) {
        StageOp stage = stages[number(run.getStage())];
        problem.microBatches = std::max<int64_t>(problem.microBatches, run.getMicroBatch() + 1);
        orders[rank].push_back({*passOf(run.getPass()), int64_t(run.getMicroBatch()), int64_t(stage.getChunk())});
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

  static std::optional<::lf::Pass> passOf(StringRef name) {
    return llvm::StringSwitch<std::optional<::lf::Pass>>(name)
        .Case("forward", ::lf::Pass::F)
        .Case("backward", ::lf::Pass::B)
        .Case("weight", ::lf::Pass::W)
        .Default(std::nullopt);
  }
  int64_t number(StringRef name) {
    return llvm::find_if(stages, [&](StageOp stage) { return stage.getSymName() == name; }) - stages.begin();
  }

  /// Every rank has as many chunks, placed in one of the two ways that lib/Schedule knows.
  LogicalResult checkStages(::lf::SchedulingProblem &problem) {
    int64_t count = stages.size();
    if (count == 0 || count % problem.ranks != 0)
      return getOperation().emitError() << "expected stages for " << problem.ranks << " programs, as many for each, got " << count;
    problem.chunks = count / problem.ranks;
    bool vee = problem.chunks == 2 && problem.ranks > 1 && stages[problem.ranks].getPp() != 0;
    problem.placement = vee ? ::lf::PlacementKind::vee : ::lf::PlacementKind::roundRobin;
    for (auto [index, stage] : llvm::enumerate(stages)) {
      int64_t rank = problem.place().rankOf(index), chunk = problem.place().chunkOf(index);
      if (int64_t(stage.getPp()) != rank || int64_t(stage.getChunk()) != chunk)
        return stage.emitError() << "expected stage " << index << " on pipeline rank " << rank << ", chunk " << chunk << ", got rank "
                                 << stage.getPp() << ", chunk " << stage.getChunk();
    }
    return success();
  }

  /// Around each run stand its messages: the receive before, the send after, of this stage, pass and micro-batch; none
  /// between stages of one rank, and none for weight gradients.
  LogicalResult checkLines(ProgramOp program, int64_t rank) {
    if (int64_t(program.getPp()) != rank)
      return program.emitError() << "expected the program of pipeline rank " << rank << ", got rank " << program.getPp();
    int64_t count = stages.size();
    auto message = [&](RunOp run, int64_t at, int64_t other) { return run.getPass() != "weight" && other >= 0 && other < count && stages[other].getPp() != stages[at].getPp(); };
    bool synced = false, stepped = false;
    Operation *previous = nullptr;
    for (Operation &line : program.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(line)) {
        int64_t at = number(run.getStage());
        if (at == count || int64_t(stages[at].getPp()) != int64_t(program.getPp()))
          return run.emitError() << "expected a stage of pipeline rank " << program.getPp() << ", got " << run.getStageAttr();
        std::optional<::lf::Pass> pass = passOf(run.getPass());
        if (!pass)
          return run.emitError() << "expected pass \"forward\", \"backward\" or \"weight\", got \"" << run.getPass() << "\"";
        bool forward = *pass == ::lf::Pass::F;
        int64_t from = forward ? at - 1 : at + 1, to = forward ? at + 1 : at - 1;
        auto recv = dyn_cast_or_null<RecvOp>(previous);
        if (message(run, at, from) &&
            (!recv || recv.getTo() != run.getStage() || number(recv.getFrom()) != from || recv.getPass() != run.getPass() ||
             recv.getMicroBatch() != run.getMicroBatch() || recv.getSlot() != run.getSlot()))
          return run.emitError() << "expected the receive from stage " << from << " of micro-batch " << run.getMicroBatch() << " before this line";
        auto send = dyn_cast_or_null<SendOp>(line.getNextNode());
        if (message(run, at, to) &&
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

  SmallVector<StageOp> stages; // in stage order
};
} // namespace
