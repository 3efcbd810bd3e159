//===- TextReport.cpp - The plan report as text -----------------------------===//
//
// What --dry-run prints and what executables print with --describe.
//
//===----------------------------------------------------------------------===//
#include "Tables.h"

namespace lf {

std::string memoryTable(const PlanReport &r) { return printTable(memoryOf(r)); }

std::string textReport(const PlanReport &r) {
  std::string text;
  for (const Table &table : {planTable(r), stageTable(r), layerTable(r), memoryOf(r), trafficTable(r)})
    if (!table.rows.empty())
      text += printTable(table) + "\n";
  text += "timetable, in flops (F forward, B backward, " +
          std::string(r.problem.splitWeightGradient ? "W gradients of weights, " : "") + "number: micro-batch)\n" + timetableText(r, 120);
  return text;
}

} // namespace lf
