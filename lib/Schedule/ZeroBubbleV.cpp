//===- ZeroBubbleV.cpp - ZB-V: two chunks in a V, no bubble ---------------===//
//
// Stage s < ranks stands on rank s, stage s >= ranks on rank 2 ranks - 1 - s, so that the first gradient is made on the
// rank that made the first activation (Qi et al., Zero Bubble Pipeline Parallelism, 2023).
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {

// 2 ranks, 4 micro-batches, every pass 1 (mb.chunk):
//
//   rank 0 | F0.0 F1.0 F2.0 F0.1 B0.1 W0.1 F1.1 B1.1 W1.1 F3.0 B0.0 W0.0 F2.1 B2.1 W2.1 B1.0 W1.0 F3.1 B3.1 W3.1 ...
//   rank 1 | .    F0.0 F0.1 F1.0 F1.1 B0.1 W0.1 F2.0 B0.0 W0.0 F2.1 B1.1 W1.1 F3.0 B1.0 W1.0 F3.1 B2.1 W2.1 B2.0 ...
//
// Phases on rank r of p:
//   1  2 (p - r) - 1 forwards of chunk 0
//   2  r times: forward of chunk 1, forward of chunk 0                     2 p - 1 bundles are alive now
//   3  p - r times: F B W of chunk 1                                       at most 2 p
//   4  until all forwards are done: F of chunk 0, B W of chunk 0, F B W of chunk 1
//   5  r times: B of chunk 0, B of chunk 1, their W left for later
//   6  p - r times: B W of chunk 0
//   7  the Ws that are left, chunk 1 first
// Counted on at least 2 p - 1 micro-batches; with fewer, the actions of those that do not exist are left out. With
// equal passes and at least 2 p - 1 micro-batches a rank is never idle between its first action and its last.

void checkZeroBubbleV(const SchedulingProblem &problem) {
  if (problem.chunks != 2)
    throw usage("expected 2 chunks on a rank (--vpp) for --pipeline-schedule zb-v, got " +
                std::to_string(problem.chunks));
  if (problem.ranks < 2)
    throw usage("\"--pipeline-model-parallel-size\": expected at least 2 for \"--pipeline-schedule\" \"zb-v\", got " +
                std::to_string(problem.ranks) + "; raise it, or use \"1f1b\"");
  if (problem.expertOverlap)
    throw usage("expected --pipeline-schedule 1f1b or interleaved with --overlap-moe-expert-parallel-comm, got "
                "\"zb-v\"");
}

namespace {

/// The program of one rank under construction: what ran last of each pass and chunk.
class Builder {
public:
  explicit Builder(int64_t microBatches) : microBatches(microBatches) {}

  void run(Pass pass, int64_t chunk) {
    int64_t mb = next[static_cast<int>(pass)][chunk]++;
    if (mb < microBatches)
      program.push_back({pass, mb, chunk});
  }
  void backward(int64_t chunk) {
    run(Pass::B, chunk);
    run(Pass::W, chunk);
  }
  int64_t done(Pass pass, int64_t chunk) const { return next[static_cast<int>(pass)][chunk]; }

  Program program;

private:
  int64_t microBatches;
  int64_t next[3][2] = {};
};

} // namespace

Programs scheduleZeroBubbleV(const SchedulingProblem &problem) {
  int64_t ranks = problem.ranks, counted = std::max(problem.microBatches, 2 * ranks - 1);
  Programs programs;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Builder b(problem.microBatches);
    for (int64_t i = 0; i < 2 * (ranks - rank) - 1; ++i) // 1
      b.run(Pass::F, 0);
    for (int64_t i = 0; i < rank; ++i) { // 2
      b.run(Pass::F, 1);
      b.run(Pass::F, 0);
    }
    for (int64_t i = 0; i < ranks - rank; ++i) { // 3
      b.run(Pass::F, 1);
      b.backward(1);
    }
    while (b.done(Pass::F, 1) < counted) { // 4
      if (b.done(Pass::F, 0) < counted)
        b.run(Pass::F, 0);
      b.backward(0);
      b.run(Pass::F, 1);
      b.backward(1);
    }
    for (int64_t i = 0; i < rank; ++i) { // 5
      b.run(Pass::B, 0);
      b.run(Pass::B, 1);
    }
    while (b.done(Pass::B, 0) < counted) // 6
      b.backward(0);
    for (int64_t chunk : {1, 0}) // 7
      while (b.done(Pass::W, chunk) < counted)
        b.run(Pass::W, chunk);
    programs.push_back(std::move(b.program));
  }
  return programs;
}

} // namespace lf
