//===- Interleaved.cpp - 1F1B with several chunks on a rank ---------------===//
//
// Micro-batches pass through the chunks of a rank in groups, so that a rank waits for a chunk's time, not a stage's.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {

// 2 ranks, 2 chunks, 4 micro-batches in groups of 2, forward 1, backward 2 (mb.chunk):
//
//   rank 0 | F0.0 F1.0 F0.1 F1.1 F2.0 .    B0.1 -    F3.0 B1.1 -    F2.1 B0.0 -    F3.1 B1.0 -    .    B2.1 -  ...
//   rank 1 | .    F0.0 F1.0 F0.1 B0.1 -    F1.1 B1.1 -    F2.0 B0.0 -    F3.0 B1.0 -    F2.1 B2.1 -    F3.1 B3.1 ...
//
// The forward order is a table: for each group, for each chunk, for each micro-batch of the group. The backward order
// is the same table with the chunks mirrored. Bubble (ranks - 1) (forward + backward of one chunk).

/// Groups are of at least as many micro-batches as ranks, the last one too.
static bool groupFits(int64_t group, int64_t mbs, int64_t ranks) {
  return group >= ranks && group <= mbs && (mbs % group == 0 || mbs % group >= ranks);
}

/// The group size nearest to `group` that fits; there is one, since all micro-batches are a group.
static int64_t nearestGroup(int64_t group, int64_t mbs, int64_t ranks) {
  int64_t from = std::clamp(group, ranks, mbs);
  for (int64_t away = 0;; ++away)
    for (int64_t near : {from - away, from + away})
      if (groupFits(near, mbs, ranks))
        return near;
}

void checkInterleaved(const SchedulingProblem &problem) {
  auto str = [](int64_t n) { return std::to_string(n); };
  const std::string groupFlag = "--microbatch-group-size-per-virtual-pipeline-stage";
  int64_t group = problem.group(), mbs = problem.microBatches, ranks = problem.ranks;
  if (problem.chunks < 2)
    throw usage("\"--pipeline-schedule\": expected at least 2 chunks on a rank (--vpp) for \"interleaved\", got " +
                str(problem.chunks) + "; with one chunk use \"1f1b\"");
  if (ranks == 1)
    throw usage("\"--pipeline-model-parallel-size\": expected at least 2 for " + str(problem.chunks) +
                " chunks on a rank, got 1; raise it, or ask for one chunk");
  if (mbs < ranks)
    throw usage("\"--global-batch-size\": expected at least " + str(ranks) +
                " micro-batches (the pipeline size) for the interleaved schedule, got " + str(mbs) +
                "; raise it, or use one chunk on a rank");
  if (group < ranks || group > mbs)
    throw usage("\"" + groupFlag + "\": expected a micro-batch group from " + str(ranks) + " (pipeline size) to " +
                str(mbs) + " (micro-batches), got " + str(group) + "; use " + str(nearestGroup(group, mbs, ranks)));
  if (!groupFits(group, mbs, ranks))
    throw usage("\"--global-batch-size\": expected the last micro-batch group to be full or to hold at least " +
                str(ranks) + " (pipeline size), got " + str(mbs) + " micro-batches / " + str(group) +
                " in a group = " + str(mbs / group) + " remainder " + str(mbs % group) + "; make it " +
                str(mbs - mbs % group) + " or " + str(mbs - mbs % group + ranks) + " micro-batches, or pass " +
                groupFlag + " " + str(nearestGroup(group, mbs, ranks)));
}

// Of a full group, the last rank returns up to group - ranks + 1 micro-batches to the first before that one turns to
// the next chunk.
int64_t buffersOfInterleaved(const SchedulingProblem &problem) { return problem.group() - problem.ranks + 1; }

Programs scheduleInterleaved(const SchedulingProblem &problem) {
  std::vector<Action> table;
  for (int64_t first = 0; first < problem.microBatches; first += problem.group())
    for (int64_t chunk = 0; chunk < problem.chunks; ++chunk)
      for (int64_t mb = first; mb < std::min(first + problem.group(), problem.microBatches); ++mb)
        table.push_back({Pass::F, mb, chunk});

  int64_t steps = static_cast<int64_t>(table.size());
  Programs programs(problem.ranks);
  for (int64_t rank = 0; rank < problem.ranks; ++rank) {
    int64_t warmup = 2 * (problem.ranks - rank - 1) + (problem.chunks - 1) * problem.group() + problem.expertOverlap;
    warmup = std::min(warmup, steps);
    for (int64_t step = 0; step < steps + warmup; ++step) {
      if (step < steps)
        programs[rank].push_back(table[step]);
      if (step >= warmup) {
        const Action &forward = table[step - warmup];
        programs[rank].push_back({Pass::B, forward.microBatch, problem.chunks - 1 - forward.chunk});
      }
    }
  }
  return programs;
}

} // namespace lf
