//===- Messages.h - Programs with their sends and receives ----------------===//
//
// Makes the messages between pipeline ranks explicit: a receive before each action whose input comes from another rank,
// a send after each whose result goes to another rank. What is verified here is what is lowered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/SchedulingProblem.h"

namespace lf {

enum class EventKind : uint8_t { receive, run, send };

struct Event {
  EventKind kind = EventKind::run;
  Action action;     ///< that runs, needs the message, or made it
  int64_t peer = -1; ///< the other rank; -1 for run
  int64_t tag = -1;  ///< names the edge between two stages, the same on both sides; -1 for run
  bool operator==(const Event &) const = default;
};

using EventPrograms = std::vector<std::vector<Event>>;

/// The tag of the message that enters `stage` with `pass` (F: activations, B: gradients): 2 * stage, plus 1 for B.
inline int64_t messageTag(int64_t stage, Pass pass) { return 2 * stage + (pass == Pass::B ? 1 : 0); }

/// Stages that share a rank exchange no message.
EventPrograms insertMessages(const SchedulingProblem &, const Programs &);

/// "receive for F mb 3 chunk 1 from rank 0".
std::string describe(const Event &);

} // namespace lf
