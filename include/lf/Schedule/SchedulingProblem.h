//===- SchedulingProblem.h - What a pipeline schedule has to order --------===//
//
// The problem (ranks, chunks, micro-batches, placement) and the shape of a solution: one ordered list of actions for
// each pipeline rank. Algorithms.h makes solutions, VerifySchedule.h judges them, Timetable.h gives them time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/Placement.h"
#include <optional>
#include <string>
#include <vector>

namespace lf {

/// F forward; B backward; W gradient of the weights, where the problem splits it off (B is then the gradient of the
/// inputs alone).
enum class Pass : uint8_t { F, B, W };
inline char letter(Pass pass) { return "FBW"[static_cast<int>(pass)]; }

struct Action {
  Pass pass = Pass::F;
  int64_t microBatch = 0, chunk = 0;
  bool operator==(const Action &) const = default;
};

/// One list a pipeline rank, in the order of issue.
using Program = std::vector<Action>;
using Programs = std::vector<Program>;

struct SchedulingProblem {
  int64_t ranks = 1, chunks = 1, microBatches = 1;
  PlacementKind placement = PlacementKind::roundRobin;
  bool splitWeightGradient = false;
  int64_t groupSize = 0;      ///< interleaved: micro-batches that run through one chunk before the next; 0: ranks
  bool expertOverlap = false; ///< a forward runs merged with the backward before it: one more warm-up step

  Placement place() const { return {placement, ranks, chunks}; }
  int64_t stages() const { return ranks * chunks; }
  int64_t group() const { return groupSize ? groupSize : ranks; }
  int64_t passes() const { return splitWeightGradient ? 3 : 2; }
};

/// An action on the rank that runs it.
struct PlacedAction {
  int64_t rank = 0;
  Action action;
};

/// The action whose result travels into this one from the neighbouring stage: F of the stage before, B of the stage
/// after. None for F of the first stage, B of the last, and W.
std::optional<PlacedAction> inputOf(const SchedulingProblem &, int64_t rank, const Action &);

/// The action that this one's result travels to.
std::optional<PlacedAction> outputOf(const SchedulingProblem &, int64_t rank, const Action &);

/// "F mb 3 chunk 1".
std::string describe(const Action &);

} // namespace lf
