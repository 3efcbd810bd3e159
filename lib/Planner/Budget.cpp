//===- Budget.cpp - Does the plan fit the stated memory? --------------------===//
//
// See PlanReport.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Planner/PlanReport.h"
#include "lf/Support/Error.h"

namespace lf {

void checkBudget(const PlanReport &r, const std::vector<std::string> &fits) {
  const PipelineRankReport &most = r.largest();
  int64_t budget = r.plan.memoryBudget, peak = most.memory.peak();
  if (budget == 0 || peak <= budget)
    return;
  std::vector<std::string> notes{memoryTable(r)};
  for (const std::string &change : fits)
    notes.push_back("it fits with " + change);
  if (fits.empty())
    notes.push_back("no single doubling of tp or pp, nor a smaller micro-batch, makes it fit; combine them");
  throw Error(Exit::doesNotFit,
              "\"--memory-budget\": expected at most " + std::to_string(budget) + " bytes (" + bytesText(budget) +
                  ") a rank, got " + std::to_string(peak) + " (" + bytesText(peak) + ") on rank " +
                  std::to_string(most.firstRank) + ", " + std::to_string(peak - budget) + " too many",
              std::move(notes));
}

} // namespace lf
