//===- VerifySchedule.cpp - No hang, proven before anything runs -*- C++ -*-===//
//
// lf-verify-schedule: reads the programs as they stand (not the schedule that made them), so that a pass that moved a line
// is judged too.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Messages.h"
#include "lf/Schedule/VerifySchedule.h"
#include "lf/Transforms/Passes.h"
#include <map>
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
    splitWeightGradient = problem.splitWeightGradient;
    for (auto [rank, program] : llvm::enumerate(programs))
      if (failed(checkLines(program, rank)))
        return signalPassFailure();
    ::lf::Programs orders(programs.size());
    ::lf::EventPrograms events(programs.size());
    for (auto [rank, program] : llvm::enumerate(programs))
      for (Operation &line : program.getBody().front())
        if (std::optional<::lf::Event> event = eventOf(line)) {
          events[rank].push_back(*event);
          if (event->kind != ::lf::EventKind::run)
            continue;
          problem.microBatches = std::max<int64_t>(problem.microBatches, event->action.microBatch + 1);
          orders[rank].push_back(event->action);
        }
    // Sends return when the data may be reused; every transport holds as many messages of a channel as a program states.
    int64_t buffers = 1;
    for (ProgramOp program : programs)
      buffers = std::max<int64_t>(buffers, program.getBuffers());
    ::lf::Verification verdict = ::lf::verifySchedule(problem, orders, events, buffers);
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

  /// The line as lib/Schedule sees it; none for what is no pass and no message. The lines have been checked.
  std::optional<::lf::Event> eventOf(Operation &line) {
    auto event = [&](::lf::EventKind kind, StringRef passName, int64_t microBatch, StringRef own, StringRef other,
                     StringRef receiver) {
      ::lf::Pass pass = *passOf(passName);
      bool run = other.empty();
      return ::lf::Event{kind, {pass, microBatch, int64_t(stages[number(own)].getChunk())},
                         run ? -1 : int64_t(stages[number(other)].getPp()), run ? -1 : ::lf::messageTag(number(receiver), pass)};
    };
    if (auto run = dyn_cast<RunOp>(line))
      return event(::lf::EventKind::run, run.getPass(), run.getMicroBatch(), run.getStage(), "", "");
    if (auto send = dyn_cast<SendOp>(line))
      return event(::lf::EventKind::send, send.getPass(), send.getMicroBatch(), send.getFrom(), send.getTo(), send.getTo());
    if (auto post = dyn_cast<PostRecvOp>(line))
      return event(::lf::EventKind::post, post.getPass(), post.getMicroBatch(), post.getTo(), post.getFrom(), post.getTo());
    if (auto recv = dyn_cast<RecvOp>(line))
      return event(recv.getPosted() ? ::lf::EventKind::wait : ::lf::EventKind::receive, recv.getPass(), recv.getMicroBatch(),
                   recv.getTo(), recv.getFrom(), recv.getTo());
    return std::nullopt;
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

  /// What a program's lines have in common, to compare them.
  struct Line {
    StringRef stage;
    int64_t microBatch, slot;
    bool operator==(const Line &) const = default;
  };
  static Line lineOf(RunOp op) { return {op.getStage(), int64_t(op.getMicroBatch()), int64_t(op.getSlot())}; }
  static Line lineOf(LoadBatchOp op) { return {op.getStage(), int64_t(op.getMicroBatch()), int64_t(op.getSlot())}; }
  static Line lineOf(RecvOp op) { return {op.getTo(), int64_t(op.getMicroBatch()), int64_t(op.getSlot())}; }
  static Line lineOf(SendOp op) { return {op.getFrom(), int64_t(op.getMicroBatch()), int64_t(op.getSlot())}; }

  /// Around each run stand its lines, and no others: load_batch (stages with ids or labels, forward), the receive, the
  /// run, the send. Posts of receives may stand between them. There is no message between stages of one rank, and none for
  /// weight gradients. A bundle lives in one slot.
  LogicalResult checkLines(ProgramOp program, int64_t rank) {
    if (int64_t(program.getPp()) != rank)
      return program.emitError() << "expected the program of pipeline rank " << rank << ", got rank " << int64_t(program.getPp());
    owners.clear();
    Operation *line = program.getBody().front().empty() ? nullptr : &program.getBody().front().front();
    auto skipPosts = [&] {
      for (; isa_and_nonnull<PostRecvOp>(line); line = line->getNextNode())
        if (failed(checkPost(program, cast<PostRecvOp>(line))))
          return failure();
      return success();
    };
    bool postsAreRight = succeeded(skipPosts());
    auto take = [&](auto op) {
      line = line->getNextNode();
      postsAreRight = postsAreRight && succeeded(skipPosts());
      return op;
    };
    while (postsAreRight && line && !isa<SyncGradsOp, OptimizerStepOp>(line)) {
      auto load = dyn_cast<LoadBatchOp>(line);
      if (load && !(load = take(load), line))
        return load.emitError() << "expected the forward pass of this micro-batch after this line, got nothing";
      auto recv = dyn_cast<RecvOp>(line);
      if (recv && !(recv = take(recv), line))
        return recv.emitError() << "expected the pass that needs this message after this line, got nothing";
      auto run = dyn_cast<RunOp>(line);
      if (!run)
        return line->emitError() << "expected lf.load_batch, lf.recv or lf.run of a pass here, got \"" << line->getName() << "\"";
      take(run);
      auto send = dyn_cast_or_null<SendOp>(line);
      if (send)
        take(send);
      if (!postsAreRight || failed(checkPass(program, load, recv, run, send)))
        return failure();
    }
    if (!postsAreRight)
      return failure();
    Operation *step = line ? line->getNextNode() : nullptr;
    if (!step || !isa<SyncGradsOp>(line))
      return program.emitError() << "expected a program to end in lf.sync_grads and lf.optimizer_step, got none";
    if (!isa<OptimizerStepOp>(step))
      return step->emitError() << "expected lf.optimizer_step after lf.sync_grads, got \"" << step->getName() << "\"";
    if (Operation *more = step->getNextNode())
      return more->emitError() << "expected nothing after lf.optimizer_step, got \"" << more->getName() << "\"";
    return success();
  }

  /// A post names a stage of this rank and the other rank's stage that its message comes from. That it has one receive,
  /// later, is S7's.
  LogicalResult checkPost(ProgramOp program, PostRecvOp post) {
    int64_t count = stages.size(), at = number(post.getTo()), source = number(post.getFrom());
    std::optional<::lf::Pass> pass = passOf(post.getPass());
    if (!pass || *pass == ::lf::Pass::W)
      return post.emitError() << "expected pass \"forward\" or \"backward\", got \"" << post.getPass() << "\"";
    if (at == count || int64_t(stages[at].getPp()) != int64_t(program.getPp()))
      return post.emitError() << "expected a stage of pipeline rank " << int64_t(program.getPp()) << ", got " << post.getToAttr();
    int64_t from = *pass == ::lf::Pass::F ? at - 1 : at + 1;
    if (source == count || source != from || stages[from].getPp() == stages[at].getPp())
      return post.emitError() << "expected a message from the stage " << (*pass == ::lf::Pass::F ? "before" : "after") << " stage " << at
                              << ", on another rank, got " << post.getFromAttr();
    return success();
  }

  LogicalResult checkPass(ProgramOp program, LoadBatchOp load, RecvOp recv, RunOp run, SendOp send) {
    int64_t count = stages.size(), at = number(run.getStage());
    if (at == count || int64_t(stages[at].getPp()) != int64_t(program.getPp()))
      return run.emitError() << "expected a stage of pipeline rank " << int64_t(program.getPp()) << ", got " << run.getStageAttr();
    std::optional<::lf::Pass> pass = passOf(run.getPass());
    if (!pass)
      return run.emitError() << "expected pass \"forward\", \"backward\" or \"weight\", got \"" << run.getPass() << "\"";
    Line here = lineOf(run);
    if (here.microBatch < 0 || here.microBatch >= microBatchLimit)
      return run.emitError() << "expected a micro-batch from 0 to " << microBatchLimit - 1 << ", got " << here.microBatch;
    bool forward = *pass == ::lf::Pass::F, weight = *pass == ::lf::Pass::W;
    int64_t from = forward ? at - 1 : at + 1, to = forward ? at + 1 : at - 1;
    auto crosses = [&](int64_t other) { return !weight && other >= 0 && other < count && stages[other].getPp() != stages[at].getPp(); };

    bool wantsBatch = forward && stages[at].takesTokens();
    if (wantsBatch != bool(load) || (load && lineOf(load) != here))
      return run.emitError() << "expected " << (wantsBatch ? "one" : "no") << " lf.load_batch of micro-batch " << here.microBatch << " in slot "
                             << here.slot << " before this pass, got " << (load ? wantsBatch ? "another" : "one" : "none");
    if (crosses(from) != bool(recv) || (recv && (lineOf(recv) != here || number(recv.getFrom()) != from || recv.getPass() != run.getPass())))
      return run.emitError() << "expected " << (crosses(from) ? "the receive from stage " + std::to_string(from) : std::string("no receive"))
                             << " of micro-batch " << here.microBatch << " before this line";
    if (crosses(to) != bool(send) || (send && (lineOf(send) != here || number(send.getTo()) != to || send.getPass() != run.getPass())))
      return run.emitError() << "expected " << (crosses(to) ? "the send to stage " + std::to_string(to) : std::string("no send")) << " of micro-batch "
                             << here.microBatch << " after this line";

    // A forward fills an empty slot; the last pass that reads the bundle empties it.
    auto owner = owners.find({at, here.slot});
    if (forward) {
      if (owner != owners.end())
        return run.emitError() << "expected slot " << here.slot << " to be free, got the bundle of micro-batch " << owner->second << " in it";
      owners[{at, here.slot}] = here.microBatch;
    } else if (owner == owners.end() || owner->second != here.microBatch) {
      return run.emitError() << "expected the bundle of micro-batch " << here.microBatch << " in slot " << here.slot << ", got "
                             << (owner == owners.end() ? "nothing" : "that of micro-batch " + std::to_string(owner->second));
    } else if (weight || !splitWeightGradient) {
      owners.erase(owner);
    }
    return success();
  }

  static constexpr int64_t microBatchLimit = 1 << 20;
  std::map<std::pair<int64_t, int64_t>, int64_t> owners; // (stage, slot) -> micro-batch
  bool splitWeightGradient = false;
  SmallVector<StageOp> stages; // in stage order
};
} // namespace
