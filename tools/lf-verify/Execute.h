//===- Execute.h - Compiling and running one side of the comparison ---------===//
//
// A training executable is built unoptimised in a folder of its own, run for a few steps, and read back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Compare.h"
#include "lf/Plan/ParallelPlan.h"

namespace lf {

struct RunSettings {
  int64_t steps = 3;
  double clip = 0.05; ///< far below the gradient norm of a fresh model, so that clipping acts
  std::string tokens; ///< token file
};

/// Runs a training executable with its replicas checked; files go to `folder`, which exists (metrics.jsonl among them). Throws lf::Error: exit 1
/// when replicas differ; exit 5 when the executable fails, with the end of what it printed.
RunResult runExecutable(const std::string &executable, const RunSettings &, const std::string &folder);

/// Compiles `model` and `plan` to folder/train and folder/plan.json and runs it with its replicas checked. Throws lf::Error: what lf-compile
/// throws; exit 1 when replicas differ; exit 5 when the executable fails, with the end of what it printed.
RunResult compileAndRun(const ModelConfig &model, const ParallelPlan &plan, const RunSettings &,
                        const std::string &folder, const std::string &tool);

} // namespace lf
