//===- BuildSchedule.cpp - From a schedule's name to verified programs ----===//
//
// The table of schedules, and the four steps: problem, check, algorithm, verify.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"

#include "lf/Schedule/VerifySchedule.h"
#include "lf/Support/Error.h"

namespace lf {
namespace {

struct Entry {
  ScheduleKind kind;
  std::string_view name;
  int64_t chunks; ///< 0: any number
  PlacementKind placement;
  bool splitWeightGradient;
  void (*check)(const SchedulingProblem &);
  Programs (*schedule)(const SchedulingProblem &);
  int64_t (*buffers)(const SchedulingProblem &); ///< messages a channel; null: 1
};

// clang-format off
constexpr Entry entries[] = {
    {ScheduleKind::gpipe,                 "gpipe",       0, PlacementKind::roundRobin, false, checkGPipe,                 scheduleGPipe,                 buffersOfGPipe},
    {ScheduleKind::oneForwardOneBackward, "1f1b",        0, PlacementKind::roundRobin, false, checkOneForwardOneBackward, scheduleOneForwardOneBackward, nullptr},
    {ScheduleKind::interleaved,           "interleaved", 0, PlacementKind::roundRobin, false, checkInterleaved,           scheduleInterleaved,           buffersOfInterleaved},
    {ScheduleKind::zeroBubbleH1,          "zb-h1",       1, PlacementKind::roundRobin, true,  checkZeroBubbleH1,          scheduleZeroBubbleH1,          nullptr},
    {ScheduleKind::zeroBubbleV,           "zb-v",        2, PlacementKind::vee,        true,  checkZeroBubbleV,           scheduleZeroBubbleV,           nullptr},
};
// clang-format on

const Entry &entryOf(ScheduleKind kind) { return entries[static_cast<int>(kind)]; }

} // namespace

ScheduleKind parseSchedule(std::string_view name) {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return entry.kind;
  std::string names;
  for (const Entry &entry : entries)
    names += (names.empty() ? "\"" : ", \"") + std::string(entry.name) + "\"";
  throw usage("expected --pipeline-schedule to be one of " + names + ", got \"" + std::string(name) + "\"");
}

std::string_view scheduleName(ScheduleKind kind) { return entryOf(kind).name; }
PlacementKind placementOf(ScheduleKind kind) { return entryOf(kind).placement; }
int64_t chunksOf(ScheduleKind kind) { return entryOf(kind).chunks; }

SchedulingProblem poseProblem(ScheduleKind kind, const ScheduleRequest &request) {
  SchedulingProblem problem;
  problem.ranks = request.pp;
  problem.chunks = request.vpp;
  problem.microBatches = request.microBatches;
  problem.placement = placementOf(kind);
  problem.splitWeightGradient = entryOf(kind).splitWeightGradient;
  problem.groupSize = request.groupSize;
  problem.expertOverlap = request.expertOverlap;
  return problem;
}

namespace {

/// What 1F1B is with several chunks on a rank.
ScheduleKind kindFor(ScheduleKind kind, const ScheduleRequest &request) {
  return kind == ScheduleKind::oneForwardOneBackward && request.vpp > 1 ? ScheduleKind::interleaved : kind;
}

} // namespace

void checkSchedule(ScheduleKind kind, const ScheduleRequest &request) {
  kind = kindFor(kind, request);
  SchedulingProblem problem = poseProblem(kind, request);
  checkProblem(problem);
  entryOf(kind).check(problem);
}

PipelineSchedule buildSchedule(ScheduleKind kind, const ScheduleRequest &request) {
  checkSchedule(kind, request);
  kind = kindFor(kind, request);
  PipelineSchedule result{kind, poseProblem(kind, request), {}};
  result.programs = entryOf(kind).schedule(result.problem);
  if (entryOf(kind).buffers)
    result.buffers = entryOf(kind).buffers(result.problem);
  if (request.vpp > 1 && request.overlapP2p)
    result.receives = Receives::ahead;
  Verification verification = verifySchedule(result.problem, result.programs, result.buffers, result.receives);
  if (!verification.ok())
    throw std::logic_error("schedule \"" + std::string(scheduleName(kind)) +
                           "\" fails its verification: " + verification.faults.front().message);
  return result;
}

} // namespace lf
