//===- ReadMemory.h - The planned bytes of each rank ------------------------===//
//
// Memory is planned once, by the lowering; the report repeats what lfrt.memory states.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Planner/PlanReport.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::lf {

/// Fills in `memory` of each pipeline rank from the module after phase runtime (bytes).
void readMemory(ModuleOp lowered, ::lf::PlanReport &report);

} // namespace mlir::lf
