//===- VerifySchedule.cpp - S1 to S4 on each rank, then the messages ------===//
//
// One walk over each program with a table of when each (pass, micro-batch, chunk) ran.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/VerifySchedule.h"

#include <algorithm>

namespace lf {
namespace {

class RankWalk {
public:
  RankWalk(const SchedulingProblem &problem, int64_t rank, Verification &result)
      : problem(problem), rank(rank), result(result),
        index(problem.passes() * problem.chunks * problem.microBatches, -1),
        last(problem.passes() * problem.chunks, -1), live(problem.chunks, 0) {}

  void walk(const Program &program) {
    result.peakLive.push_back(0);
    result.peakLiveOfChunk.emplace_back(problem.chunks, 0);
    for (size_t i = 0; i < program.size(); ++i)
      visit(program[i], static_cast<int64_t>(i));
    for (int64_t i = 0; i < static_cast<int64_t>(index.size()); ++i)
      if (index[i] < 0)
        fault("S1", -1, "expected " + describe(actionAt(i)) + " to run once, got no such action");
  }

private:
  void fault(const char *rule, int64_t at, const std::string &what) {
    std::string where = "rank " + std::to_string(rank);
    if (at >= 0)
      where += ", action " + std::to_string(at);
    result.faults.push_back({rule, rank, at, where + ": " + what});
  }

  int64_t lane(const Action &a) const { return static_cast<int64_t>(a.pass) * problem.chunks + a.chunk; }
  int64_t &ranAt(const Action &a) { return index[lane(a) * problem.microBatches + a.microBatch]; }
  Action actionAt(int64_t i) const {
    int64_t mb = i % problem.microBatches, of = i / problem.microBatches;
    return {static_cast<Pass>(of / problem.chunks), mb, of % problem.chunks};
  }

  void visit(const Action &a, int64_t at) {
    if (static_cast<int64_t>(a.pass) >= problem.passes() || a.chunk < 0 || a.chunk >= problem.chunks ||
        a.microBatch < 0 || a.microBatch >= problem.microBatches) {
      fault("S1", at,
            "expected pass " + std::string(problem.splitWeightGradient ? "F, B or W" : "F or B") +
                ", a micro-batch below " + std::to_string(problem.microBatches) + " and a chunk below " +
                std::to_string(problem.chunks) + ", got " + describe(a));
      return;
    }
    if (ranAt(a) >= 0) {
      fault("S1", at,
            "expected " + describe(a) + " to run once, got it at action " + std::to_string(ranAt(a)) + " too");
      return;
    }
    ranAt(a) = at;
    if (a.pass != Pass::F) {
      Action before = a;
      before.pass = static_cast<Pass>(static_cast<int>(a.pass) - 1);
      if (ranAt(before) < 0)
        fault("S2", at, "expected " + describe(before) + " before " + describe(a));
    }
    int64_t &latest = last[lane(a)];
    if (a.microBatch < latest)
      fault("S3", at,
            "expected micro-batches of one pass and chunk to ascend, got " + describe(a) + " after mb " +
                std::to_string(latest));
    latest = std::max(latest, a.microBatch);
    if (std::optional<PlacedAction> input = inputOf(problem, rank, a);
        input && input->rank == rank && ranAt(input->action) < 0)
      fault("S4", at,
            "expected " + describe(input->action) + ", whose result stays on this rank, before " + describe(a));
    count(a);
  }

  void count(const Action &a) {
    if (a.pass == Pass::F) {
      result.peakLiveOfChunk[rank][a.chunk] = std::max(result.peakLiveOfChunk[rank][a.chunk], ++live[a.chunk]);
      result.peakLive[rank] = std::max(result.peakLive[rank], ++all);
    } else if (static_cast<int64_t>(a.pass) == problem.passes() - 1) {
      --live[a.chunk];
      --all;
    }
  }

  const SchedulingProblem &problem;
  int64_t rank;
  Verification &result;
  std::vector<int64_t> index; ///< of [pass][chunk][micro-batch]: where it ran, -1 if it did not
  std::vector<int64_t> last;  ///< of [pass][chunk]: highest micro-batch so far
  std::vector<int64_t> live;  ///< of [chunk]
  int64_t all = 0;
};

} // namespace

/// S1 to S4; false when actions are missing or surplus, so that messages of actions that do not exist would only repeat it.
static bool verifyOrders(const SchedulingProblem &problem, const Programs &programs, Verification &result) {
  if (static_cast<int64_t>(programs.size()) != problem.ranks) {
    result.faults.push_back({"S1", 0, -1,
                             "expected " + std::to_string(problem.ranks) + " programs, one a rank, got " +
                                 std::to_string(programs.size())});
    return false;
  }
  for (int64_t rank = 0; rank < problem.ranks; ++rank)
    RankWalk(problem, rank, result).walk(programs[rank]);
  return std::none_of(result.faults.begin(), result.faults.end(),
                      [](const ScheduleFault &fault) { return fault.rule == "S1"; });
}

static void addMessageFaults(const EventPrograms &events, int64_t buffers, Verification &result) {
  for (ScheduleFault &fault : verifyMessages(events, buffers)) {
    fault.index = actionIndex(events[fault.rank], fault.index);
    result.faults.push_back(std::move(fault));
  }
}

Verification verifySchedule(const SchedulingProblem &problem, const Programs &programs, int64_t buffers,
                            Receives receives) {
  Verification result;
  if (verifyOrders(problem, programs, result))
    addMessageFaults(insertMessages(problem, programs, receives), buffers, result);
  return result;
}

Verification verifySchedule(const SchedulingProblem &problem, const Programs &programs, const EventPrograms &events,
                            int64_t buffers) {
  Verification result;
  if (verifyOrders(problem, programs, result))
    addMessageFaults(events, buffers, result);
  return result;
}

} // namespace lf
