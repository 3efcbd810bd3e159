//===- ReadPlan.h - plan.json as if it were flags ---------------------------===//
//
// Internal to lib/Plan: the file's members become given flags, so that one set of checks serves both.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Arguments.h"
#include "lf/Model/ModelConfig.h"
#include "lf/Support/Json.h"

namespace lf {

struct PlanFile {
  GivenFlags flags;
  Json model;               ///< the member "model", or null
  int64_t microBatches = 0; ///< 0: not stated
  std::string layout;       ///< the member "layout", which may be a derived one
  std::string where;
  bool chunksStated = false; ///< "options" say how many stages a rank has; "sizes" always do
};

/// Throws lf::Error (exit 2) that names the JSON pointer; also where two members state one decision differently.
PlanFile readPlan(const std::string &path);

/// Adds what the file says and the command line does not. The model serves to tell a derived layout, which follows the
/// sizes, from a stated one, which is kept. Throws lf::Error (exit 2) where the file contradicts itself, and where a flag
/// contradicts the layout that the file states.
void mergePlan(GivenFlags &, const PlanFile &, ModelConfig);

} // namespace lf
