//===- SchedulingProblem.cpp - Neighbours of an action --------------------===//
//
// The dependences between stages, and the sizes that every schedule needs.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/SchedulingProblem.h"

#include "lf/Schedule/Algorithms.h"
#include "lf/Support/Error.h"

namespace lf {
namespace {

std::optional<PlacedAction> onStage(const SchedulingProblem &problem, int64_t stage, const Action &like) {
  if (stage < 0 || stage >= problem.stages())
    return std::nullopt;
  Placement place = problem.place();
  return PlacedAction{place.rankOf(stage), {like.pass, like.microBatch, place.chunkOf(stage)}};
}

} // namespace

std::optional<PlacedAction> inputOf(const SchedulingProblem &problem, int64_t rank, const Action &action) {
  if (action.pass == Pass::W)
    return std::nullopt;
  return onStage(problem, problem.place().stageOf(rank, action.chunk) + (action.pass == Pass::F ? -1 : 1), action);
}

std::optional<PlacedAction> outputOf(const SchedulingProblem &problem, int64_t rank, const Action &action) {
  if (action.pass == Pass::W)
    return std::nullopt;
  return onStage(problem, problem.place().stageOf(rank, action.chunk) + (action.pass == Pass::F ? 1 : -1), action);
}

std::string describe(const Action &action) {
  return std::string(1, letter(action.pass)) + " mb " + std::to_string(action.microBatch) + " chunk " +
         std::to_string(action.chunk);
}

void checkProblem(const SchedulingProblem &problem) {
  constexpr int64_t limit = 10'000'000;
  int64_t actions = problem.passes();
  const std::pair<int64_t, const char *> sizes[] = {{problem.ranks, "a pipeline size (--pp)"},
                                                    {problem.chunks, "chunks on a rank (--vpp)"},
                                                    {problem.microBatches, "micro-batches"}};
  for (auto [size, name] : sizes) {
    if (size < 1)
      throw usage(std::string("expected ") + name + " of at least 1, got " + std::to_string(size));
    if (size > limit || (actions *= size) > limit)
      throw usage("expected a schedule of at most " + std::to_string(limit) + " actions (passes x ranks x chunks x " +
                  "micro-batches), got " + std::to_string(problem.passes()) + " x " + std::to_string(problem.ranks) +
                  " x " + std::to_string(problem.chunks) + " x " + std::to_string(problem.microBatches));
  }
}

} // namespace lf
