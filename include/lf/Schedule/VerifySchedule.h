//===- VerifySchedule.h - Proof that programs run to their end ------------===//
//
// Judges the programs of any schedule against the problem, by constraints that every algorithm must meet:
//   S1 each pass of each (micro-batch, chunk) runs exactly once, and nothing else runs
//   S2 F before B before W for each (micro-batch, chunk)
//   S3 micro-batches of one pass and chunk ascend, so that every plan sums gradients in one order
//   S4 between two stages on one rank, the input is made before it is used
//   S5 on each channel the i-th receive takes the i-th send, and no message is left over
//   S6 no cyclic wait
// Buffering: a channel is (from rank, to rank, tag), that is one edge between two stages in one direction, and holds
// `buffers` messages. A receive waits for a message; a send waits for a free buffer. A rank runs its events one by one,
// so whether all end does not depend on timing, and one untimed run decides it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/Messages.h"

namespace lf {

struct ScheduleFault {
  std::string rule; ///< "S1" .. "S6"
  int64_t rank = 0;
  int64_t index =
      -1; ///< of the action (verifySchedule) or event (verifyMessages) in the rank's list; -1: none is there
  std::string message; ///< names rank and index too
};

struct Verification {
  std::vector<ScheduleFault> faults;                 ///< empty: the programs are right
  std::vector<int64_t> peakLive;                     ///< of each rank: most saved bundles alive at once, all chunks
  std::vector<std::vector<int64_t>> peakLiveOfChunk; ///< the same of [rank][chunk]: slots that a memory plan needs
  bool ok() const { return faults.empty(); }
};

/// S1 to S6. A bundle is alive from its F to its last pass (W where the problem splits it off, else B).
Verification verifySchedule(const SchedulingProblem &, const Programs &, int64_t buffers = 1);

/// S5 and S6 for events, whoever placed them.
std::vector<ScheduleFault> verifyMessages(const EventPrograms &, int64_t buffers = 1);

/// The action that `events[event]` is, or belongs to: which run of the list, from 0.
int64_t actionIndex(const std::vector<Event> &events, int64_t event);

/// The least number of buffers a channel with which the programs end; 0 if no number helps.
int64_t buffersNeeded(const SchedulingProblem &, const Programs &);

} // namespace lf
