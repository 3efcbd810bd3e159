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
  const int64_t budget = r.plan.memoryBudget, needed = most.memory.needed(), driver = most.memory.driver;
  if (budget == 0 || needed <= budget)
    return;
  std::vector<std::string> notes{memoryTable(r)};
  for (const std::string &change : fits)
    notes.push_back("it fits with " + change);
  if (fits.empty())
    notes.push_back("neither a larger tp nor a larger pp (up to 64 times) nor a smaller micro-batch makes it fit by "
                    "itself; combine them");
  throw Error(Exit::doesNotFit,
              "\"--memory-budget\": expected at most " + std::to_string(budget) + " bytes (" + bytesText(budget) +
                  ") a rank, got " + std::to_string(needed) + " (" + bytesText(needed) +
                  (driver > 0 ? ", about " + bytesText(driver) + " of it for driver and libraries" : "") +
                  ") on rank " + std::to_string(most.firstRank) + ", " + std::to_string(needed - budget) + " too many",
              std::move(notes));
}

} // namespace lf
