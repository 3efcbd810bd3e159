//===- PlanJson.h - The stable members of plan.json --------------------------===//
//
// What --plan-out writes from the plan alone and --plan reads back. Stages, programs, memory and traffic follow from
// later phases and are added by whoever knows them; they are never read back.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"
#include "lf/Support/Json.h"

namespace lf {

/// Members version, model, sizes, layout, micro_batches, schedule, options of a resolved plan, in this order.
Json planJson(const ParallelPlan &, const ModelConfig &);

/// The layout as text: the plan's own spelling, or the even split that an empty one stands for.
std::string layoutText(const ParallelPlan &, const ModelConfig &);

} // namespace lf
