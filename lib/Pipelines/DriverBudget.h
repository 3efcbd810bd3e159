//===- DriverBudget.h - Changes of a plan that would fit --------------------===//
//
// Internal to the driver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"

namespace lf {

/// Changes of single decisions (tp, pp, sequence parallelism, micro-batch, schedule) under which every rank stays
/// within plan.memoryBudget, each as flags with the peak that it gives. Every one has been compiled, none is estimated.
std::vector<std::string> fittingChanges(const CompileRequest &request, const ModelConfig &model);

} // namespace lf
