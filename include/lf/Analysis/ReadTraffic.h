//===- ReadTraffic.h - The bytes that each rank sends -----------------------===//
//
// What a step sends is stated once, by the lowered programs: gradients travel with the padding between their places.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Planner/PlanReport.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::lf {

/// Fills in `traffic` of each pipeline rank, and what each profile sends, from the module after phase runtime.
void readTraffic(ModuleOp lowered, ::lf::PlanReport &report);

} // namespace mlir::lf
