//===- Tables.h - The tables of a report, before text or HTML ---------------===//
//
// Rows of cells; TextReport aligns them, HtmlReport marks them up. Both show the same numbers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Planner/PlanReport.h"

namespace lf {

struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  size_t textColumns = 1; ///< leading columns that are words: aligned to the left
};

Table planTable(const PlanReport &);
Table stageTable(const PlanReport &);
Table layerTable(const PlanReport &);
Table memoryOf(const PlanReport &);
Table trafficTable(const PlanReport &);

/// Aligned columns below an underlined header.
std::string printTable(const Table &);

/// The schedule in units of its shortest pass, from the flops of each stage.
std::string timetableText(const PlanReport &, int64_t columns);
/// Idle share of the pipeline by those flops, 0 to 1.
double bubbleFraction(const PlanReport &);

} // namespace lf
