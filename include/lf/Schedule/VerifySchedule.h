//===- VerifySchedule.h - Proof that programs run to their end ------------===//
//
// Judges the programs of any schedule against the problem, by constraints that every algorithm must meet:
//   S1 each pass of each (micro-batch, chunk) runs exactly once, and nothing else runs
//   S2 F before B before W for each (micro-batch, chunk)
//   S3 micro-batches of one pass and chunk ascend, so that every plan sums gradients in one order
//   S4 between two stages on one rank, the input is made before it is used
//   S5 on each channel the i-th receive takes the i-th send, and no message is left over
//   S6 no cyclic wait
//   S7 a receive in two parts is posted once, then waited for once, in the order of posts of its channel, and no other
//      receive of the channel comes between
// Buffering: a channel is (from rank, to rank, tag), that is one edge between two stages in one direction, and holds
// `buffers` messages. A receive waits for a message; a send waits for a free buffer; a post waits for nothing. A rank runs its events one by one,
// so whether all end does not depend on timing, and one untimed run decides it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/Messages.h"

namespace lf {

struct ScheduleFault {
  std::string rule; ///< "S1" .. "S7"
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

/// S1 to S7, with the messages of insertMessages. A bundle is alive from its F to its last pass (W where the problem splits it off, else B).
Verification verifySchedule(const SchedulingProblem &, const Programs &, int64_t buffers = 1,
                            Receives = Receives::atUse);
/// The same with the messages of `events`, whose runs are the programs.
Verification verifySchedule(const SchedulingProblem &, const Programs &, const EventPrograms &events, int64_t buffers);

/// S5 to S7 for events, whoever placed them.
std::vector<ScheduleFault> verifyMessages(const EventPrograms &, int64_t buffers = 1);

/// The action that `events[event]` is, or stands with: which run of the list, from 0. A post stands with the action before
/// which it is made.
int64_t actionIndex(const std::vector<Event> &events, int64_t event);

/// The least number of buffers a channel with which the programs end; 0 if no number helps.
int64_t buffersNeeded(const SchedulingProblem &, const Programs &);

} // namespace lf
