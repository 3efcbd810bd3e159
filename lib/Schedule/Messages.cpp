//===- Messages.cpp - Sends and receives of a schedule --------------------===//
//
// A receive just before the action that needs it, a send just behind the action that made it.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Messages.h"

namespace lf {

EventPrograms insertMessages(const SchedulingProblem &problem, const Programs &programs) {
  EventPrograms result(programs.size());
  for (int64_t rank = 0; rank < static_cast<int64_t>(programs.size()); ++rank)
    for (const Action &action : programs[rank]) {
      std::vector<Event> &events = result[rank];
      std::optional<PlacedAction> input = inputOf(problem, rank, action), output = outputOf(problem, rank, action);
      if (input && input->rank != rank)
        events.push_back({EventKind::receive, action, input->rank,
                          messageTag(problem.place().stageOf(rank, action.chunk), action.pass)});
      events.push_back({EventKind::run, action, -1, -1});
      if (output && output->rank != rank)
        events.push_back({EventKind::send, action, output->rank,
                          messageTag(problem.place().stageOf(output->rank, output->action.chunk), action.pass)});
    }
  return result;
}

std::string describe(const Event &event) {
  if (event.kind == EventKind::run)
    return describe(event.action);
  return event.kind == EventKind::receive
             ? "receive for " + describe(event.action) + " from rank " + std::to_string(event.peer)
             : "send of " + describe(event.action) + " to rank " + std::to_string(event.peer);
}

} // namespace lf
