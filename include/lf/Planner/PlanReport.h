//===- PlanReport.h - What a plan costs, and how it is shown ----------------===//
//
// The facts of a compiled plan, by pipeline rank: ranks that differ only in dp, cp or tp do the same and share one
// entry. lib/Analysis fills it from the IR; here it becomes text, HTML and plan.json.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"
#include "lf/Schedule/Timetable.h"
#include "lf/Support/Json.h"

namespace lf {

/// Bytes of one rank, as planned; the arenas of runtime.h. All are allocated for the whole run, so the peak is the sum.
struct RankMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0, saved = 0, workspace = 0, staging = 0;
  int64_t host = 0;   ///< pinned host memory, not in the peak
  int64_t driver = 0; ///< of a GPU: what its driver and NCCL take, about (lf/driver_memory.h); not in the peak
  int64_t peak() const { return parameters + gradients + optimizer + saved + workspace + staging; }
  /// What there has to be where the rank runs.
  int64_t needed() const { return peak() + driver; }
};

/// What one rank sends; bytes are those of an ideal ring: (n-1)/n of the larger side, twice that for an all-reduce.
struct Traffic {
  std::string axis; ///< "tp", "dp+tp", "pp", "world"
  std::string kind; ///< all_gather, reduce_scatter, all_reduce, all_to_all, send
  int64_t messages = 0, bytes = 0;
};

/// Adds to the entry of the same axis and kind; keeps the order of first use.
void addTraffic(std::vector<Traffic> &, const Traffic &);

/// One body of the program, run once for one micro-batch on one rank. The planner's only view of a model.
struct LayerProfile {
  std::string owner;      ///< "embed", a layer kind, "head"
  int64_t parameters = 0; ///< elements of the local shards
  int64_t forwardFlops = 0, backwardFlops = 0;
  int64_t weightFlops = 0;     ///< of the weight pass, where it is split off; not in backwardFlops then
  int64_t forwardBytes = 0, backwardBytes = 0; ///< read and written by its ops
  int64_t savedBytes = 0;                      ///< kept from the forward for the backward
  std::vector<Traffic> forward, backward, weight;
};

struct StageReport {
  int64_t stage = 0, pp = 0, chunk = 0;
  std::vector<std::string> items;              ///< "E", "t", "m", "L"
  std::vector<int64_t> layers;                 ///< their numbers, ascending
  int64_t parameters = 0;                      ///< elements on one rank
  int64_t forwardFlops = 0, backwardFlops = 0; ///< of one micro-batch on one rank
  int64_t weightFlops = 0;                     ///< as in LayerProfile
};

/// All ranks of one pipeline coordinate.
struct PipelineRankReport {
  int64_t pp = 0, firstRank = 0, ranks = 1;
  int64_t parameters = 0; ///< elements on one rank, copies of tied parameters included
  int64_t inFlight = 0;   ///< bundles of saved activations, the most alive at once
  RankMemory memory;
  std::vector<Traffic> traffic; ///< of one rank in one step
};

struct PlanReport {
  ModelConfig model;
  ParallelPlan plan;
  std::vector<LayerProfile> profiles; ///< embed, kinds, head
  std::vector<StageReport> stages;    ///< in stage order
  std::vector<PipelineRankReport> ranks;
  SchedulingProblem problem;
  Programs programs;
  Receives receives = Receives::atUse; ///< of the programs' messages
  double flopsPerToken = 0; ///< forward and backward, whole model

  int64_t tokensPerStep() const { return plan.globalBatch * plan.seqLength; }
  const PipelineRankReport &largest() const; ///< by what it needs
};

/// "llama 8.03 B, tp 8 dp 64, 1f1b": model and plan in a line.
std::string planName(const PlanReport &);
/// The report of --dry-run and --describe: plan, stages, memory, traffic, timetable, as text of at most 140 columns.
std::string textReport(const PlanReport &);
/// The memory table alone.
std::string memoryTable(const PlanReport &);
/// When each pass runs, by flops. Seconds at `rate` flops a second.
Timetable timetableOf(const PlanReport &, double rate = 1);
/// The same as one self-contained HTML page.
std::string htmlReport(const PlanReport &);
/// plan.json with stages, programs, memory and traffic. `everyRank`: one object for each rank, as files have it; else
/// for the first rank of each pipeline rank only, as executables carry it.
Json fullPlanJson(const PlanReport &, bool everyRank = true);
/// plan.json as text: a line for each member, and for each entry of an array.
std::string planText(const Json &plan);

/// Throws lf::Error (exit 3) when some rank needs more than plan.memoryBudget, its driver and libraries included;
/// `fits` are changes that would help.
void checkBudget(const PlanReport &, const std::vector<std::string> &fits);

/// 1536 -> "1.50 KiB".
std::string bytesText(int64_t bytes);
/// 8030261248 -> "8.03 B"; for counts and flops.
std::string countText(double count);

} // namespace lf
