//===- OneForwardOneBackward.cpp - 1F1B, one chunk on a rank --------------===//
//
// A rank runs just enough forwards ahead for the first backward to reach it, then one backward for each forward.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {

// 3 ranks, 4 micro-batches, forward 1, backward 2:
//
//   rank 0 | F0 F1 F2 .  .  .  .  B0 -  F3 B1 -  .  B2 -  .  B3 -
//   rank 1 | .  F0 F1 .  .  B0 -  F2 B1 -  F3 B2 -  .  B3 -  .  .
//   rank 2 | .  .  F0 B0 -  F1 B1 -  F2 B2 -  F3 B3 -  .  .  .  .
//
// Bubble (ranks - 1) (forward + backward), as GPipe, with min(ranks - r, micro-batches) bundles alive on rank r.

void checkOneForwardOneBackward(const SchedulingProblem &problem) {
  if (problem.expertOverlap && problem.ranks > 1)
    throw usage("expected more than one chunk on a rank (--vpp) for --overlap-moe-expert-parallel-comm with a pipeline "
                "size (--pp) of " +
                std::to_string(problem.ranks) + ", got 1");
}

Programs scheduleOneForwardOneBackward(const SchedulingProblem &problem) {
  Programs programs(problem.ranks);
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    int64_t warmup = std::min(problem.ranks - rank - 1 + problem.expertOverlap, problem.microBatches);
    for (int64_t step = 0; step < problem.microBatches + warmup; ++step) {
      if (step < problem.microBatches)
        programs[rank].push_back({Pass::F, step, 0});
      if (step >= warmup)
        programs[rank].push_back({Pass::B, step - warmup, 0});
    }
  }
  return programs;
}

} // namespace lf
