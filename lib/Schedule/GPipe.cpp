//===- GPipe.cpp - All forwards, then all backwards -----------------------===//
//
// The reference schedule: simplest order, largest memory.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {

// 3 ranks, 3 micro-batches, forward 1, backward 2:
//
//   rank 0 | F0 F1 F2 .  .  .  .  .  .  B0 -  B1 -  B2 -
//   rank 1 | .  F0 F1 F2 .  .  .  B0 -  B1 -  B2 -  .  .
//   rank 2 | .  .  F0 F1 F2 B0 -  B1 -  B2 -  .  .  .  .
//
// Bubble (ranks - 1) (forward + backward). Every micro-batch is alive at once. With more chunks, chunk by chunk: up in
// the forward, down in the backward.

void checkGPipe(const SchedulingProblem &problem) {
  if (problem.expertOverlap)
    throw usage("expected --pipeline-schedule 1f1b or interleaved with --overlap-moe-expert-parallel-comm, got "
                "\"gpipe\"");
}

// The last rank returns micro-batches to the first before that one turns to the next chunk.
int64_t buffersOfGPipe(const SchedulingProblem &problem) {
  return problem.chunks == 1 ? 1 : std::max<int64_t>(1, problem.microBatches - problem.ranks + 1);
}

Programs scheduleGPipe(const SchedulingProblem &problem) {
  Program program;
  for (int64_t chunk = 0; chunk < problem.chunks; ++chunk)
    for (int64_t mb = 0; mb < problem.microBatches; ++mb)
      program.push_back({Pass::F, mb, chunk});
  for (int64_t chunk = problem.chunks - 1; chunk >= 0; --chunk)
    for (int64_t mb = 0; mb < problem.microBatches; ++mb)
      program.push_back({Pass::B, mb, chunk});
  return Programs(problem.ranks, program);
}

} // namespace lf
