//===- Algorithms.h - Pipeline schedules ----------------------------------===//
//
// Each schedule has a check of its problem and an algorithm, in one source file below an ASCII timetable. Only
// buildSchedule does all of it: problem, check, algorithm, verify.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/Messages.h"
#include <string_view>

namespace lf {

enum class ScheduleKind { gpipe, oneForwardOneBackward, interleaved, zeroBubbleH1, zeroBubbleV };

/// "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"; throws lf::Error (exit 2) for any other, with the list of names.
ScheduleKind parseSchedule(std::string_view name);
std::string_view scheduleName(ScheduleKind);

/// Placement of stages that a schedule works on.
PlacementKind placementOf(ScheduleKind);
/// Chunks on a rank that a schedule insists on: 1 or 2; 0: any number.
int64_t chunksOf(ScheduleKind);

/// Sizes of a problem as the user gives them.
struct ScheduleRequest {
  int64_t pp = 1, vpp = 1, microBatches = 1;
  int64_t groupSize = 0;      ///< --microbatch-group-size-per-virtual-pipeline-stage; 0: pp
  bool expertOverlap = false; ///< --overlap-moe-expert-parallel-comm
  bool overlapP2p = true;     ///< without --no-overlap-p2p-communication; read when there are several chunks
};

/// Problem and solution, verified.
struct PipelineSchedule {
  ScheduleKind kind;
  SchedulingProblem problem;
  Programs programs;
  int64_t buffers = 1; ///< messages that a channel has to hold (VerifySchedule.h)
  Receives receives = Receives::atUse; ///< ahead with several chunks, unless overlapP2p is off
};

/// Problem, check, algorithm, verify. "1f1b" with vpp > 1 is "interleaved". Throws lf::Error (exit 2) when the schedule
/// cannot be had for these sizes, std::logic_error when an algorithm of ours fails its verification.
PipelineSchedule buildSchedule(ScheduleKind kind, const ScheduleRequest &request);

/// Problem and check alone: throws lf::Error as buildSchedule does.
void checkSchedule(ScheduleKind kind, const ScheduleRequest &request);

/// The problem that `kind` poses for `request`, not yet checked.
SchedulingProblem poseProblem(ScheduleKind kind, const ScheduleRequest &request);

/// Sizes that every schedule needs: at least 1 each, at most 10,000,000 actions on all ranks together. Throws
/// lf::Error.
void checkProblem(const SchedulingProblem &);

// ---- One check and one algorithm each; algorithms take a checked problem ------------------------------------------

/// Peak: micro-batches * chunks. With several chunks a channel has to hold at most
/// micro-batches - ranks + 1 messages.
void checkGPipe(const SchedulingProblem &);
int64_t buffersOfGPipe(const SchedulingProblem &);
Programs scheduleGPipe(const SchedulingProblem &);

/// Peak of saved bundles on rank r: min(ranks - r, micro-batches); one more with expertOverlap.
void checkOneForwardOneBackward(const SchedulingProblem &);
Programs scheduleOneForwardOneBackward(const SchedulingProblem &);

/// Peak on rank r: min(2 (ranks - r - 1) + (chunks - 1) group + 1, micro-batches * chunks); one more with
/// expertOverlap. A channel has to hold group - ranks + 1 messages at most.
void checkInterleaved(const SchedulingProblem &);
int64_t buffersOfInterleaved(const SchedulingProblem &);
Programs scheduleInterleaved(const SchedulingProblem &);

/// Peak on every rank at most min(ranks, micro-batches): what 1F1B needs on rank 0. A bundle lives until its W.
void checkZeroBubbleH1(const SchedulingProblem &);
Programs scheduleZeroBubbleH1(const SchedulingProblem &);

/// Peak on every rank at most 2 * ranks bundles of half a 1F1B stage: what 1F1B needs on rank 0.
void checkZeroBubbleV(const SchedulingProblem &);
Programs scheduleZeroBubbleV(const SchedulingProblem &);

} // namespace lf
