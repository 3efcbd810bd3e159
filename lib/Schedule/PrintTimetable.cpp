//===- PrintTimetable.cpp - A schedule as text ----------------------------===//
//
// Rows are ranks, columns are time; every column is as wide as the longest name of an action.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Timetable.h"

#include <algorithm>
#include <cmath>

namespace lf {
namespace {

std::string nameOf(const SchedulingProblem &problem, const Action &action) {
  std::string name(1, letter(action.pass));
  name += std::to_string(action.microBatch);
  return problem.chunks > 1 ? name + "." + std::to_string(action.chunk) : name;
}

double shortest(const Timetable &times) {
  double unit = 0;
  for (const auto &spans : times.spans)
    for (const Span &span : spans)
      if (span.end > span.start && (unit == 0 || span.end - span.start < unit))
        unit = span.end - span.start;
  return unit > 0 ? unit : 1;
}

} // namespace

std::string printTimetable(const SchedulingProblem &problem, const Programs &programs, const Timetable &times,
                           double unit, int64_t columns) {
  if (!(unit > 0))
    unit = shortest(times);
  double all = std::ceil(times.makespan / unit - 1e-9);
  int64_t shown = static_cast<int64_t>(std::min(all, static_cast<double>(std::max<int64_t>(columns, 1))));
  size_t width = 0;
  for (const Program &program : programs)
    for (const Action &action : program)
      width = std::max(width, nameOf(problem, action).size());

  size_t rankWidth = std::to_string(programs.size()).size();
  std::string text;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    std::vector<std::string> cells(shown, ".");
    for (size_t i = 0; i < programs[rank].size(); ++i) {
      double first = std::round(times.spans[rank][i].start / unit), end = std::round(times.spans[rank][i].end / unit);
      for (double cell = first; cell < std::max(end, first + 1) && cell < static_cast<double>(shown); ++cell)
        cells[static_cast<size_t>(cell)] = cell == first ? nameOf(problem, programs[rank][i]) : "-";
    }
    std::string number = std::to_string(rank);
    std::string row = "rank " + std::string(rankWidth - std::min(rankWidth, number.size()), ' ') + number + " |";
    for (const std::string &cell : cells)
      row += " " + cell + std::string(width - std::min(width, cell.size()), ' ');
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  if (all > static_cast<double>(shown))
    text.append("(")
        .append(std::to_string(static_cast<int64_t>(std::min(all, 9e18)) - shown))
        .append(" more columns)\n");
  return text;
}

} // namespace lf
