//===- PrintLayout.cpp - Canonical spelling of a layout -------------------===//
//
// Runs of equal symbols inside a stage, then runs of equal stages. The last stage has no bar behind it and stays out of
// the runs.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/LayoutString.h"

namespace lf {
namespace {

std::string printStage(const std::string &stage) {
  std::string text;
  for (size_t i = 0; i < stage.size();) {
    size_t end = stage.find_first_not_of(stage[i], i);
    size_t run = (end == std::string::npos ? stage.size() : end) - i;
    text.append(run < 3 ? run : 1, stage[i]);
    if (run >= 3)
      text.append("*").append(std::to_string(run));
    i += run;
  }
  return text;
}

} // namespace

std::string printLayout(const std::vector<std::string> &stages) {
  std::string text;
  for (size_t i = 0; i < stages.size();) {
    if (i + 1 == stages.size()) {
      text += printStage(stages[i]);
      break;
    }
    size_t run = 1;
    while (i + run + 1 < stages.size() && stages[i + run] == stages[i])
      ++run;
    std::string unit = printStage(stages[i]) + "|";
    std::string grouped = unit == "|" ? unit : '(' + unit + ')';
    grouped.append("*").append(std::to_string(run));
    if (grouped.size() < unit.size() * run)
      text += grouped;
    else
      for (size_t j = 0; j < run; ++j)
        text += unit;
    i += run;
  }
  return text;
}

} // namespace lf
