//===- DriverBudget.cpp - Changes of a plan that would fit -------*- C++ -*-===//
//
// Compiles a handful of neighbouring plans up to the memory plan; each takes milliseconds.
//
//===----------------------------------------------------------------------===//
#include "DriverBudget.h"
#include "lf/Pipelines/Driver.h"
#include "lf/Support/Error.h"

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }

/// What the worst rank needs, in bytes; 0 for a plan that is not legal.
static int64_t neededBy(CompileRequest &request, const ModelConfig &model) {
  try {
    resolvePlan(request.plan, model);
    return compile(request, model, Phase::runtime, /*printed=*/false).report->largest().memory.needed();
  } catch (const Error &) {
    return 0;
  }
}

std::vector<std::string> fittingChanges(const CompileRequest &request, const ModelConfig &model) {
  const ParallelPlan &plan = request.plan;
  std::vector<std::string> fits;
  /// Tries values of one decision, nearest first, until one fits.
  auto search = [&](const std::vector<int64_t> &values, auto &&change) {
    for (int64_t value : values) {
      CompileRequest other = request;
      other.dumpPhases.clear();
      other.plan.memoryBudget = 0;
      std::string flags = change(other.plan, value);
      if (request.worldSize > 0) { // the ranks are given: more of one degree is less of data parallelism
        const int64_t step = other.plan.tp * other.plan.pp * other.plan.cp;
        if (request.worldSize % step != 0)
          continue;
        other.plan.dp = request.worldSize / step;
        if (request.dataParallelStated && other.plan.dp != plan.dp)
          flags += " --data-parallel-size " + plain(other.plan.dp);
      }
      const int64_t needed = neededBy(other, model);
      if (needed == 0 || needed > plan.memoryBudget)
        continue;
      fits.push_back(flags + ": " + bytesText(needed) + " a rank, on " + plain(other.plan.world()) + " ranks");
      return;
    }
  };
  if (plan.schedule == "gpipe" && plan.pp > 1)
    search({1}, [](ParallelPlan &p, int64_t) {
      p.schedule = "1f1b";
      return std::string("--pipeline-schedule 1f1b");
    });
  if (plan.tp > 1 && !plan.sequenceParallel)
    search({1}, [](ParallelPlan &p, int64_t) {
      p.sequenceParallel = true;
      return std::string("--sequence-parallel");
    });
  search({plan.microBatch / 2, plan.microBatch / 4, 1}, [&](ParallelPlan &p, int64_t size) {
    p.microBatch = size;
    return "--micro-batch-size " + plain(size);
  });
  auto doublings = [](int64_t size) {
    return std::vector<int64_t>{2 * size, 4 * size, 8 * size, 16 * size, 32 * size, 64 * size};
  };
  search(doublings(plan.tp), [](ParallelPlan &p, int64_t size) {
    p.tp = size;
    return "--tensor-model-parallel-size " + plain(size);
  });
  search(doublings(plan.pp), [](ParallelPlan &p, int64_t size) {
    p.pp = size;
    p.layout.clear();
    return "--pipeline-model-parallel-size " + plain(size);
  });
  return fits;
}

} // namespace lf
