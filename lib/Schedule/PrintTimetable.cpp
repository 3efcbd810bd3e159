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

/// The shortest action of some weight: one of a stage without layers can be a millionth of the others.
double shortest(const Timetable &times) {
  double longest = 0, unit = 0;
  for (const auto &spans : times.spans)
    for (const Span &span : spans)
      longest = std::max(longest, span.end - span.start);
  for (const auto &spans : times.spans)
    for (const Span &span : spans)
      if (double length = span.end - span.start; length > 0 && length >= longest / 16 && (unit == 0 || length < unit))
        unit = length;
  return unit > 0 ? unit : 1;
}

} // namespace

std::string printTimetable(const SchedulingProblem &problem, const Programs &programs, const Timetable &times,
                           double unit, int64_t columns) {
  if (!(unit > 0))
    unit = shortest(times);
  double all = std::ceil(times.makespan / unit - 1e-9);
  std::vector<std::vector<Span>> places(programs.size()); // in columns
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    double free = 0; // what takes less than a column still has one of its own
    for (const Span &span : times.spans[rank]) {
      double first = std::max(free, std::round(span.start / unit));
      free = std::max(std::round(span.end / unit), first + 1);
      places[rank].push_back({first, free});
    }
    all = std::max(all, free);
  }
  int64_t shown = static_cast<int64_t>(std::min(all, static_cast<double>(std::max<int64_t>(columns, 1))));
  size_t width = 0;
  for (const Program &program : programs)
    for (const Action &action : program)
      width = std::max(width, nameOf(problem, action).size());

  size_t rankWidth = std::to_string(programs.size()).size();
  std::string text;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    std::vector<std::string> cells(shown, ".");
    for (size_t i = 0; i < programs[rank].size(); ++i)
      for (double cell = places[rank][i].start; cell < places[rank][i].end && cell < static_cast<double>(shown); ++cell)
        cells[static_cast<size_t>(cell)] = cell == places[rank][i].start ? nameOf(problem, programs[rank][i]) : "-";
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
