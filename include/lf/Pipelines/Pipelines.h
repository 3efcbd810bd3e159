//===- Pipelines.h - The order of passes, by phase --------------------------===//
//
// lf-train, lf-shard, lf-pipeline, lf-lower: the chapters of a compilation, for lf-opt and lf-compile alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Transforms/Passes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::lf {

/// Our dialects and the upstream ones that they use.
void registerDialects(DialectRegistry &registry);
/// Every pass and pipeline, by its name, for lf-opt.
void registerPassesAndPipelines();

/// What the passes of a whole compilation need to know of the plan.
struct PipelineOptions {
  int64_t pp = 1, dp = 1, tp = 1, tpRep = 1, microBatches = 1;
  int64_t vpp = 1, groupSize = 0; ///< chunks on a rank; micro-batches of a group, 0: pp
  bool sequenceParallel = false;
  bool overlapP2p = true; ///< post receives ahead, where a rank has several chunks
  std::string layout, schedule = "1f1b";
};

/// Phase train: differentiate.
void buildTrainPipeline(OpPassManager &pm);
/// Phases shard (annotate, propagate) and spmd (partition).
void buildShardPipeline(OpPassManager &pm, const PipelineOptions &options);
void buildPartitionPipeline(OpPassManager &pm);
/// Phases pipeline (stages) and schedule (programs).
void buildStagePipeline(OpPassManager &pm, const PipelineOptions &options);
void buildSchedulePipeline(OpPassManager &pm, const PipelineOptions &options);

} // namespace mlir::lf
