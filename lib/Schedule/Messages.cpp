//===- Messages.cpp - Sends and receives of a schedule --------------------===//
//
// A receive just before the action that needs it, or posted before the action in front of that; a send just behind the
// action that made it.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Messages.h"

namespace lf {

/// The event of `kind` that has to do with the input of `action`; none when it needs no message.
static std::optional<Event> inputEvent(const SchedulingProblem &problem, int64_t rank, const Action &action,
                                       EventKind kind) {
  std::optional<PlacedAction> input = inputOf(problem, rank, action);
  if (!input || input->rank == rank)
    return std::nullopt;
  return Event{kind, action, input->rank, messageTag(problem.place().stageOf(rank, action.chunk), action.pass)};
}

EventPrograms insertMessages(const SchedulingProblem &problem, const Programs &programs, Receives receives) {
  EventPrograms result(programs.size());
  for (int64_t rank = 0; rank < static_cast<int64_t>(programs.size()); ++rank) {
    const Program &program = programs[rank];
    std::vector<Event> &events = result[rank];
    auto append = [&](size_t i, EventKind kind) {
      if (i < program.size())
        if (std::optional<Event> event = inputEvent(problem, rank, program[i], kind))
          events.push_back(*event);
    };
    if (receives == Receives::ahead)
      append(0, EventKind::post);
    for (size_t i = 0; i < program.size(); ++i) {
      append(i, receives == Receives::ahead ? EventKind::wait : EventKind::receive);
      if (receives == Receives::ahead)
        append(i + 1, EventKind::post);
      events.push_back({EventKind::run, program[i], -1, -1});
      std::optional<PlacedAction> output = outputOf(problem, rank, program[i]);
      if (output && output->rank != rank)
        events.push_back({EventKind::send, program[i], output->rank,
                          messageTag(problem.place().stageOf(output->rank, output->action.chunk), program[i].pass)});
    }
  }
  return result;
}

std::string describe(const Event &event) {
  std::string action = describe(event.action), peer = " rank " + std::to_string(event.peer);
  switch (event.kind) {
  case EventKind::post:
    return "post of the receive for " + action + " from" + peer;
  case EventKind::wait:
    return "posted receive for " + action + " from" + peer;
  case EventKind::receive:
    return "receive for " + action + " from" + peer;
  case EventKind::send:
    return "send of " + action + " to" + peer;
  case EventKind::run:
    break;
  }
  return action;
}

} // namespace lf
