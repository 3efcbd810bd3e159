//===- Timetable.h - When each action of a schedule runs ------------------===//
//
// Gives programs time: durations of passes and transfers in, start and end of each action out. Transfers run beside the
// computation and buffers are not counted; an action starts when the rank is free and its inputs are there. A transfer
// begins when its data is made and its receiver has asked for it (Receives in Messages.h): data that is large enough to
// take time has no other place to go to.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/Messages.h"
#include <array>

namespace lf {

/// Seconds, or any one unit. Index by stage.
struct ScheduleCosts {
  std::vector<std::array<double, 3>>
      pass;                            ///< [stage][F, B, W]; without split weight gradients B holds W and W is not read
  std::vector<double> forwardTransfer; ///< [stage] activations from the stage before; not read for stage 0
  std::vector<double> backwardTransfer; ///< [stage] gradients from the stage after; not read for the last stage
};

/// All stages alike. `backward` is the gradient of the inputs alone if the problem splits W off, else all of it.
ScheduleCosts uniformCosts(const SchedulingProblem &, double forward, double backward, double weight = 0,
                           double transfer = 0);

struct Span {
  double start = 0, end = 0;
};

struct Timetable {
  std::vector<std::vector<Span>> spans; ///< of [rank][action]
  double makespan = 0;                  ///< from 0 to the last end
  std::vector<double> busy;             ///< of each rank: the sum of its durations
  /// Idle time of a rank from 0 to the makespan.
  double bubble(int64_t rank) const { return makespan - busy[rank]; }
  /// Idle time of a rank between its own first start and last end.
  double innerIdle(int64_t rank) const;
  /// Idle share of (ranks x makespan), 0 to 1; 0 for an empty timetable.
  double bubbleFraction() const;
};

/// Programs must have passed verifySchedule; throws std::logic_error if they wait for each other.
Timetable timetable(const SchedulingProblem &, const Programs &, const ScheduleCosts &, Receives = Receives::atUse);

/// One row a rank, time to the right, `unit` a column (0: the shortest duration of at least a 16th of the longest). An
/// action is "F3" ("F3.1" on chunk 1, when there is more than one) and "-" while it lasts, "." is idle. At most `columns`
/// columns; a last line says what was cut off. Times are rounded to columns, and an action takes at least one.
std::string printTimetable(const SchedulingProblem &, const Programs &, const Timetable &, double unit = 0,
                           int64_t columns = 400);

/// The planned schedule in Chrome's trace format (chrome://tracing, Perfetto). Each rank has a track "pp0 passes", a slice
/// an action, and a track "pp0 messages": "recv F3", while the rank waits for the message that its F3 needs; "send F3",
/// which takes no time, behind an F3 whose result goes to another rank; "post F3", which takes none either, where a receive
/// is asked for ahead. An arrow a message, from pass to pass. `scale` turns the unit of the timetable into microseconds.
std::string planTrace(const SchedulingProblem &, const Programs &, const Timetable &, double scale = 1e6,
                      Receives = Receives::atUse);

} // namespace lf
