//===- Timetable.cpp - Longest path through the events of a schedule ------===//
//
// An action starts at the later of two times: the end of the action before it on its rank, and the arrival of its
// input, whose transfer begins when both ranks are ready for it.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Timetable.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace lf {

ScheduleCosts uniformCosts(const SchedulingProblem &problem, double forward, double backward, double weight,
                           double transfer) {
  ScheduleCosts costs;
  costs.pass.assign(problem.stages(), {forward, backward, weight});
  costs.forwardTransfer.assign(problem.stages(), transfer);
  costs.backwardTransfer.assign(problem.stages(), transfer);
  return costs;
}

double Timetable::innerIdle(int64_t rank) const {
  return spans[rank].empty() ? 0 : spans[rank].back().end - spans[rank].front().start - busy[rank];
}

double Timetable::bubbleFraction() const {
  double idle = 0;
  for (int64_t rank = 0; rank < static_cast<int64_t>(busy.size()); ++rank)
    idle += bubble(rank);
  return makespan > 0 ? idle / (makespan * static_cast<double>(busy.size())) : 0;
}

Timetable timetable(const SchedulingProblem &problem, const Programs &programs, const ScheduleCosts &costs,
                    Receives receives) {
  Placement place = problem.place();
  Timetable result;
  result.spans.resize(programs.size());
  result.busy.assign(programs.size(), 0);
  // ends of [pass][stage][micro-batch]; negative: not yet
  std::vector<double> ends(3 * problem.stages() * problem.microBatches, -1);
  auto endOf = [&](int64_t rank, const Action &a) -> double & {
    int64_t stage = place.stageOf(rank, a.chunk);
    return ends[(static_cast<int64_t>(a.pass) * problem.stages() + stage) * problem.microBatches + a.microBatch];
  };

  std::deque<int64_t> ready;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    ready.push_back(static_cast<int64_t>(rank));
  while (!ready.empty()) {
    int64_t rank = ready.front();
    ready.pop_front();
    std::vector<Span> &spans = result.spans[rank];
    while (spans.size() < programs[rank].size()) {
      const Action &action = programs[rank][spans.size()];
      int64_t stage = place.stageOf(rank, action.chunk);
      double start = spans.empty() ? 0 : spans.back().end;
      if (std::optional<PlacedAction> input = inputOf(problem, rank, action)) {
        double made = endOf(input->rank, input->action);
        if (made < 0)
          break;
        bool moves = input->rank != rank;
        double transfer = action.pass == Pass::F ? costs.forwardTransfer.at(stage) : costs.backwardTransfer.at(stage);
        double asked = spans.empty() ? 0 : receives == Receives::ahead ? spans.back().start : spans.back().end;
        start = std::max(start, moves ? std::max(made, asked) + transfer : made);
      }
      double duration = costs.pass.at(stage)[static_cast<int>(action.pass)];
      spans.push_back({start, start + duration});
      result.busy[rank] += duration;
      result.makespan = std::max(result.makespan, start + duration);
      endOf(rank, action) = start + duration;
      if (std::optional<PlacedAction> output = outputOf(problem, rank, action))
        ready.push_back(output->rank);
    }
  }
  for (size_t rank = 0; rank < programs.size(); ++rank)
    if (result.spans[rank].size() < programs[rank].size())
      throw std::logic_error("rank " + std::to_string(rank) + ", action " + std::to_string(result.spans[rank].size()) +
                             ": expected an input, got none: the programs were not verified");
  return result;
}

} // namespace lf
