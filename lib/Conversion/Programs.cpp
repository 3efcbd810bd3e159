//===- Programs.cpp - Programs as tables of actions --------------*- C++ -*-===//
//
// Finds how long each bundle and message lives in a rank's program, gives them their bytes, and writes the rows.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"
#include "llvm/ADT/StringSet.h"
#include <array>
#include <set>

namespace mlir::lfrt {

namespace {
/// A spot before offsets are known: a byte of a bundle, or a message.
struct Where {
  int64_t bundle = -1, message = -1, offset = 0;
  bool known() const { return bundle >= 0 || message >= 0; }
};

struct Line {
  std::string callee;
  int64_t microBatch = -1, bundle = -1;
  Where input, output;
  bool backward = false;
};

/// One program while it is being planned.
class ProgramPlan {
public:
  ProgramPlan(Lowering &l, OpBuilder &b, lf::ProgramOp program, llvm::StringSet<> &made)
      : l(l), b(b), program(program), made(made) {}
  /// Yields bytes of the arena "saved", and of what lies below the bodies' workspace.
  std::pair<int64_t, int64_t> run();

private:
  int64_t bundle(int64_t stage, int64_t microBatch) {
    int64_t number = touch(bundles, {0, stage, microBatch}, l.stages[stage].bundle);
    if (l.stages[stage].inWorkspace)
      tails.insert(number);
    return number;
  }
  bool tailRunsAtOnce(int64_t tail);
  int64_t message(int64_t kind, int64_t stage, int64_t microBatch) {
    return touch(messages, {kind, stage, microBatch}, l.hidden * l.realBytes());
  }
  int64_t touch(std::vector<::lf::Lifetime> &, const std::array<int64_t, 3> &key, int64_t bytes);
  int64_t stageOf(StringRef symbol) const;
  void line(Operation &op);
  void load(int64_t stage, int64_t microBatch);
  /// `runsNext`: the forward of the stage behind it follows, when that is on this rank.
  void run(int64_t stage, StringRef pass, int64_t microBatch, bool runsNext = false);
  void handOver(int64_t stage, int64_t microBatch);
  void write(int64_t below);

  Lowering &l;
  OpBuilder &b;
  lf::ProgramOp program;
  llvm::StringSet<> &made; ///< actions that exist
  std::vector<Line> lines;
  std::set<int64_t> tails; ///< bundles that lie in the workspace
  std::set<std::pair<int64_t, int64_t>> waiting; ///< stages and micro-batches whose input lies in a message
  std::vector<::lf::Lifetime> bundles, messages;
  std::map<std::array<int64_t, 3>, int64_t> known;
};
} // namespace

// Keys of messages: the output of a stage's forward, the cotangent of its output, the cotangent of its input, the input that
// is received ahead of its bundle.
enum : int64_t { bundleOf, outputOf, cotangentOf, inputCotangentOf, inputOf };

int64_t ProgramPlan::touch(std::vector<::lf::Lifetime> &list, const std::array<int64_t, 3> &key, int64_t bytes) {
  int64_t now = lines.size();
  auto [it, fresh] = known.try_emplace(key, list.size());
  if (fresh)
    list.push_back({bytes, now, now, -1});
  list[it->second].last = now;
  return it->second;
}

int64_t ProgramPlan::stageOf(StringRef symbol) const {
  for (const Stage &stage : l.stages)
    if (lf::StageOp op = stage.op; op.getSymName() == symbol && !stage.isTail)
      return stage.index;
  llvm_unreachable("lf-verify-lowerable checks that stages exist");
}

/// Whether nothing computes between the load and the last pass of a micro-batch of the tail but its own stage: the tail's
/// bundle may lie where other bodies have their workspace.
bool ProgramPlan::tailRunsAtOnce(int64_t tail) {
  std::optional<std::pair<StringRef, int64_t>> due; // the run that has to be next
  for (Operation &op : program.getBody().front()) {
    if (auto load = dyn_cast<lf::LoadBatchOp>(op); load && stageOf(load.getStage()) == tail - 1) {
      if (due)
        return false;
      due = {"forward", load.getMicroBatch()};
    }
    auto run = dyn_cast<lf::RunOp>(op);
    if (!run)
      continue;
    bool mine = stageOf(run.getStage()) == tail - 1 && run.getPass() != "weight";
    if (mine != due.has_value() || (due && *due != std::pair(run.getPass(), int64_t(run.getMicroBatch()))))
      return false;
    if (due && due->first == "forward")
      due->first = "backward";
    else
      due.reset();
  }
  return !due;
}

/// Copies what the stage before left on this rank into the bundle of a stage that is about to run.
void ProgramPlan::handOver(int64_t s, int64_t mb) {
  if (!waiting.erase({s, mb}))
    return;
  Line line;
  line.callee = l.stages[s].name() + ".take_input";
  line.microBatch = mb;
  line.bundle = bundle(s, mb);
  line.input = {-1, message(outputOf, s - 1, mb), 0};
  line.output = {line.bundle, -1, l.stages[s].input};
  if (made.insert(line.callee).second)
    buildTake(l, b, line.callee);
  lines.push_back(line);
}

void ProgramPlan::run(int64_t s, StringRef pass, int64_t mb, bool runsNext) {
  const Stage &stage = l.stages[s];
  if (pass == "forward")
    handOver(s, mb);
  Line line;
  bool weight = pass == "weight";
  if (weight && !stage.hasWeightPass())
    return;
  line.backward = pass == "backward";
  line.callee = stage.name() + "." + pass.str();
  line.microBatch = mb;
  line.bundle = bundle(s, mb);
  if (!line.backward && !weight && !stage.last) {
    const Stage &next = l.stages[s + 1];
    // A stage of this rank that runs next gets its input where it wants it. One that runs later needs no bundle yet.
    if (next.pp == stage.pp && runsNext)
      line.output = {bundle(s + 1, mb), -1, next.input};
    else
      line.output = {-1, message(outputOf, s, mb), 0};
    if (next.pp == stage.pp && !runsNext)
      waiting.insert({s + 1, mb});
  }
  if (line.backward && !stage.last)
    line.input = {-1, message(cotangentOf, s, mb), 0};
  // An even number of steps between two buffers ends where it began: the result takes the place of the input.
  bool ownRank = !stage.first && l.stages[s - 1].pp == stage.pp;
  std::array<int64_t, 3> result = {ownRank ? cotangentOf : inputCotangentOf, ownRank ? s - 1 : s, mb};
  if (line.input.known() && !stage.first && stage.steps() > 0 && stage.steps() % 2 == 0)
    known[result] = line.input.message;
  if (line.backward && !stage.first)
    line.output = {-1, message(result[0], result[1], mb), 0};
  lines.push_back(line);
}

void ProgramPlan::load(int64_t s, int64_t microBatch) {
  const Stage &stage = l.stages[s];
  if (stage.tokens.empty())
    return; // Positions are loaded once a step.
  Line line;
  line.callee = stage.name() + ".load";
  line.microBatch = microBatch;
  line.bundle = bundle(s, microBatch);
  if (made.insert(line.callee).second)
    buildLoad(l, b, stage);
  lines.push_back(line);
}

void ProgramPlan::line(Operation &op) {
  Line line;
  auto tailOf = [&](int64_t s) { return s + 1 < int64_t(l.stages.size()) && l.stages[s + 1].isTail ? s + 1 : -1; };
  if (auto batch = dyn_cast<lf::LoadBatchOp>(op)) {
    int64_t s = stageOf(batch.getStage()), tail = tailOf(s);
    load(s, batch.getMicroBatch());
    if (tail >= 0)
      load(tail, batch.getMicroBatch());
    return;
  }
  if (auto pass = dyn_cast<lf::RunOp>(op)) {
    int64_t s = stageOf(pass.getStage()), tail = tailOf(s), mb = pass.getMicroBatch();
    auto next = llvm::find_if(llvm::make_range(std::next(op.getIterator()), op.getBlock()->end()),
                              [](Operation &other) { return isa<lf::RunOp>(other); });
    auto follows = [&](lf::RunOp run) {
      return run.getPass() == "forward" && int64_t(run.getMicroBatch()) == mb && stageOf(run.getStage()) == s + 1;
    };
    if (tail >= 0 && pass.getPass() == "backward")
      run(tail, pass.getPass(), mb);
    run(s, pass.getPass(), mb, tail >= 0 || (next != op.getBlock()->end() && follows(cast<lf::RunOp>(*next))));
    if (tail >= 0 && pass.getPass() == "forward")
      run(tail, pass.getPass(), mb);
    return;
  }
  if (auto send = dyn_cast<lf::SendOp>(op)) {
    int64_t s = stageOf(send.getFrom()), to = stageOf(send.getTo());
    bool forward = send.getPass() == "forward";
    line.callee = (send.getFrom() + ".send_" + send.getPass()).str();
    line.microBatch = send.getMicroBatch();
    line.input = {-1, message(forward ? outputOf : inputCotangentOf, s, line.microBatch), 0};
    if (made.insert(line.callee).second)
      buildSend(l, b, line.callee, (send.getTo() + (forward ? " input" : " cotangent")).str(), l.stages[to].pp,
                2 * to + !forward);
  } else if (auto recv = dyn_cast<lf::RecvOp>(op)) {
    int64_t s = stageOf(recv.getTo()), source = stageOf(recv.getFrom());
    bool forward = recv.getPass() == "forward";
    line.callee = (recv.getTo() + (recv.getPosted() ? ".wait_" : ".receive_") + recv.getPass()).str();
    line.microBatch = recv.getMicroBatch();
    std::string what = (recv.getTo() + (forward ? " input" : " cotangent")).str();
    int64_t tag = 2 * s + !forward;
    if (recv.getPosted()) {
      line.input = {-1, message(forward ? inputOf : cotangentOf, s, line.microBatch), 0};
      if (forward)
        line.output = {bundle(s, line.microBatch), -1, l.stages[s].input};
      if (made.insert(line.callee).second)
        buildWait(l, b, line.callee, what, l.stages[source].pp, tag, forward);
      lines.push_back(line);
      return;
    }
    if (forward)
      line.output = {bundle(s, line.microBatch), -1, l.stages[s].input};
    else
      line.output = {-1, message(cotangentOf, s, line.microBatch), 0};
    if (made.insert(line.callee).second)
      buildReceive(l, b, line.callee, what, l.stages[source].pp, tag);
  } else if (auto post = dyn_cast<lf::PostRecvOp>(op)) {
    int64_t s = stageOf(post.getTo()), source = stageOf(post.getFrom());
    bool forward = post.getPass() == "forward";
    line.callee = (post.getTo() + ".post_" + post.getPass()).str();
    line.microBatch = post.getMicroBatch();
    // The bundle of a forward may still be another micro-batch's: the message waits for it in a place of its own.
    line.output = {-1, message(forward ? inputOf : cotangentOf, s, line.microBatch), 0};
    if (made.insert(line.callee).second)
      buildPost(l, b, line.callee, (post.getTo() + (forward ? " input" : " cotangent")).str(), l.stages[source].pp,
                2 * s + !forward);
  } else if (isa<lf::SyncGradsOp>(op)) {
    if (!buildSyncGrads(l, b, program.getPp()))
      return;
    line.callee = "sync_grads.pp" + std::to_string(program.getPp());
    if (int64_t elements = exchangeElements(l, program.getPp()))
      line.bundle = touch(bundles, {bundleOf, -1, -1}, elements * l.mainBytes());
  } else {
    buildOptimizerStep(l, b, program.getPp());
    line.callee = "optimizer_step.pp" + std::to_string(program.getPp());
  }
  lines.push_back(line);
}

std::pair<int64_t, int64_t> ProgramPlan::run() {
  int64_t pp = program.getPp();
  buildBeginStep(l, b, pp);
  Line begin;
  begin.callee = "begin_step.pp" + std::to_string(pp);
  for (Stage &stage : l.stages)
    if (stage.isTail && stage.pp == pp)
      stage.inWorkspace = tailRunsAtOnce(stage.index);
  lines.push_back(begin);
  for (Operation &op : program.getBody().front())
    line(op);
  std::vector<::lf::Lifetime> inSaved;
  for (auto [number, life] : llvm::enumerate(bundles))
    if (!tails.count(number))
      inSaved.push_back(life);
  int64_t saved = ::lf::planArena(inSaved);
  int64_t positions = l.usesPositions ? ::lf::aligned(l.sequence * 4) : 0;
  int64_t base = positions + ::lf::planArena(messages);
  auto next = inSaved.begin();
  for (auto [number, life] : llvm::enumerate(bundles))
    life.offset = tails.count(number) ? base : (next++)->offset;
  for (const Stage &stage : l.stages)
    if (stage.pp == pp) {
      // Above its own bundle, or above what it writes of the tail's: ids, labels and the input.
      bool first = size_t(stage.index) + 1 < l.stages.size() && l.stages[stage.index + 1].inWorkspace;
      int64_t own = stage.inWorkspace ? stage.bundle : 0;
      int64_t written = first ? l.stages[stage.index + 1].input + ::lf::aligned(l.hidden * l.realBytes()) : own;
      buildForward(l, b, stage, base + written);
      buildBackward(l, b, stage, base + own);
      if (stage.hasWeightPass())
        buildWeight(l, b, stage, base);
    }
  write(positions);
  return {saved, base};
}

void ProgramPlan::write(int64_t below) {
  int64_t times = lines.size(), pp = program.getPp();
  std::vector<int64_t> live = ::lf::liveBytes(bundles, times), inFlight = ::lf::liveBytes(messages, times);
  OpBuilder::InsertionGuard guard(b);
  auto table = ProgramOp::create(b, program.getLoc(), "pp" + std::to_string(pp), pp);
  b.setInsertionPointToStart(&table.getBody().emplaceBlock());
  auto spot = [&](const Where &where) {
    if (!where.known())
      return SpotAttr();
    bool isBundle = where.bundle >= 0;
    int64_t offset = isBundle ? bundles[where.bundle].offset + where.offset : below + messages[where.message].offset;
    bool saved = isBundle && !tails.count(where.bundle);
    return SpotAttr::get(b.getContext(), b.getStringAttr(saved ? "saved" : "workspace"), offset);
  };
  for (auto [time, line] : llvm::enumerate(lines)) {
    int64_t bytes = live[time] + inFlight[time] + below;
    // Bodies count the cotangents that they are given and give as their own.
    if (line.backward && line.input.message >= 0)
      bytes -= messages[line.input.message].bytes;
    if (line.backward && line.output.message >= 0 && line.output.message != line.input.message)
      bytes -= messages[line.output.message].bytes;
    RunOp::create(b, program.getLoc(), line.callee, line.microBatch, line.bundle >= 0 ? bundles[line.bundle].offset : 0,
                  spot(line.input), spot(line.output), bytes);
  }
}

std::vector<std::pair<int64_t, int64_t>> lowerPrograms(Lowering &l, OpBuilder &b) {
  std::vector<std::pair<int64_t, int64_t>> memory(l.numRanks);
  llvm::StringSet<> made;
  for (lf::ProgramOp program : llvm::to_vector(l.module.getOps<lf::ProgramOp>()))
    memory[program.getPp()] = ProgramPlan(l, b, program, made).run();
  return memory;
}

} // namespace mlir::lfrt
