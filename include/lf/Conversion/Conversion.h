//===- Conversion.h - From lf (MPMD) to lfrt to C++ ------------------------===//
//
// The passes of dialects/lfrt/LfrtPasses.td and the pipeline lf-lower.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"
#include "lf/Dialect/Lfrt.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::lfrt {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION ///< registerLfrtPasses(); also needs LfTarget
#include "lf/Dialect/LfrtPasses.h.inc"
} // namespace mlir::lfrt

namespace mlir::lf {
/// lf-verify-lowerable, lf-lower-to-runtime, lf-plan-memory, lf-verify-lowered: from programs to planned lfrt.
void buildLowerPipeline(OpPassManager &pm);
} // namespace mlir::lf
