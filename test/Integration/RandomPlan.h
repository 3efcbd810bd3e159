//===- RandomPlan.h - A model and a plan from one number --------------------===//
//
// A seed gives a small model of any family and a legal plan of at most eight ranks. Four seeds in a row share the model
// and the batch, so that they share the single-rank run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lf::test {

struct RandomPlan {
  uint64_t seed = 0;
  std::string config;             ///< config.json
  std::vector<std::string> flags; ///< of lf-compile, after the model
  ModelConfig model;
  ParallelPlan plan;   ///< resolved from flags, as lf-compile does
  ParallelPlan single; ///< one rank, the same samples in each micro-batch
  /// Columns of the histogram: name to value, e.g. "tp" to "4", "layout" to "empty stage".
  std::map<std::string, std::string> traits;

  /// How many of dp, tp and pp are above 1. Sequence parallelism is a way of using tp and is not counted.
  int axes() const { return (plan.dp > 1) + (plan.tp > 1) + (plan.pp > 1); }
  std::string commandLine(const std::string &modelFile) const;
};

/// Seeds with equal groupOf share model and batch.
inline uint64_t groupOf(uint64_t seed) { return seed / 4; }

/// The same seed gives the same plan on every machine. Writes the model to folder/config.json, where the flags are
/// parsed against it. Throws lf::Error when the compiler's front end refuses what the rules for plans allow, and
/// std::logic_error when no legal plan is found: both are failures of the seed.
RandomPlan randomPlan(uint64_t seed, const std::string &folder);

} // namespace lf::test
