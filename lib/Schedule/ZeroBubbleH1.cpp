//===- ZeroBubbleH1.cpp - ZB-H1: weight gradients fill the bubble ---------===//
//
// 1F1B with the gradient of the weights split off and delayed, at the memory that 1F1B needs on its first rank
// (Qi et al., Zero Bubble Pipeline Parallelism, 2023).
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {

// 3 ranks, 4 micro-batches, every pass 1:
//
//   rank 0 | F0 F1 F2 .  .  B0 W0 F3 B1 W1 B2 W2 B3 W3
//   rank 1 | .  F0 F1 .  B0 F2 B1 W0 F3 B2 W1 B3 W2 W3
//   rank 2 | .  .  F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3
//
// Rank r warms up as in 1F1B and leaves W r micro-batches behind B. The forwards that 1F1B saves on late ranks pay for
// the bundles that wait for their W: (ranks - r - 1) + 1 + r = ranks alive on each. A late rank thus returns its first
// gradients without a W between them, and its own Ws fill the time in which the pipeline drains.
// Bubble (ranks - 1) (F + B - W), B being the gradient of the inputs alone.

void checkZeroBubbleH1(const SchedulingProblem &problem) {
  if (problem.chunks != 1)
    throw usage("expected 1 chunk on a rank (--vpp) for --pipeline-schedule zb-h1, got " +
                std::to_string(problem.chunks));
  if (problem.expertOverlap)
    throw usage("expected --pipeline-schedule 1f1b or interleaved with --overlap-moe-expert-parallel-comm, got "
                "\"zb-h1\"");
}

Programs scheduleZeroBubbleH1(const SchedulingProblem &problem) {
  Programs programs(problem.ranks);
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    Program &program = programs[rank];
    int64_t warmup = std::min(problem.ranks - rank - 1, problem.microBatches), forward = 0, weight = 0;
    while (forward < warmup)
      program.push_back({Pass::F, forward++, 0});
    for (int64_t mb = 0; mb < problem.microBatches; ++mb) {
      if (forward < problem.microBatches)
        program.push_back({Pass::F, forward++, 0});
      program.push_back({Pass::B, mb, 0});
      if (mb >= rank)
        program.push_back({Pass::W, weight++, 0});
    }
    while (weight < problem.microBatches)
      program.push_back({Pass::W, weight++, 0});
  }
  return programs;
}

} // namespace lf
