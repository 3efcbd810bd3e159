//===- Messages.h - Programs with their sends and receives ----------------===//
//
// Makes the messages between pipeline ranks explicit: a receive before each action whose input comes from another rank,
// in one part or in two (post and wait), a send after each whose result goes to another rank. What is verified here is what
// is lowered.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/SchedulingProblem.h"

namespace lf {

/// A receive is one event that waits (`receive`), or two: `post` names the place and never waits, `wait` does.
enum class EventKind : uint8_t { post, wait, receive, run, send };

/// When a rank asks for the message that an action needs: just before the action, or one action earlier, so that the
/// message travels while that one computes.
enum class Receives : uint8_t { atUse, ahead };

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

/// Stages that share a rank exchange no message. `ahead`: the post for an action stands between the wait of the action
/// before it and that action; the first action's just before its wait.
EventPrograms insertMessages(const SchedulingProblem &, const Programs &, Receives = Receives::atUse);

/// "receive for F mb 3 chunk 1 from rank 0".
std::string describe(const Event &);

} // namespace lf
