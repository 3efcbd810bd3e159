//===- AnalyzePlan.h - What the IR says a plan costs ------------------------===//
//
// The cost model reads the program that will run: flops through CostInterface, parameters
// through lf.declare, order through lf.program; what is sent is in ReadTraffic.h. Nothing here knows an op by name.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Planner/PlanReport.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::lf {

/// Floating-point operations of forward and backward of the whole model for one token, without padding of the batch.
/// `training` is the module after phase train: whole shapes, @X.fwd and @X.bwd, one lf.chain.
double flopsPerToken(ModuleOp training, int64_t tokensOfMicroBatch);

/// The layout of pp x chunks stages of equal work, from the module after phase spmd (local shapes). The work of an op is its
/// flops, or `flopsPerByte` for each byte that it touches where that is more.
std::string balancedLayout(ModuleOp partitioned, int64_t pp, int64_t chunks, double flopsPerByte);

/// Everything of the report but memory, traffic and flopsPerToken, from the module after phase schedule: local shapes, lf.mesh,
/// lf.stage, lf.program. Pipeline ranks come in order; the mesh has "pp" as its major axis.
::lf::PlanReport analyzePrograms(ModuleOp scheduled, const ::lf::ModelConfig &model, const ::lf::ParallelPlan &plan);

} // namespace mlir::lf
