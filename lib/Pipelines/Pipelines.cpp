//===- Pipelines.cpp - The order of passes, by phase -------------*- C++ -*-===//
//
// Each order constraint has its reason beside it.
//
//===----------------------------------------------------------------------===//
#include "lf/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::lf;

void mlir::lf::registerDialects(DialectRegistry &registry) { registry.insert<LfDialect, func::FuncDialect>(); }

void mlir::lf::buildTrainPipeline(OpPassManager &pm) {
  pm.addPass(createLfDifferentiate());
  // After differentiation: cross entropy has one adjoint, stated for the whole of it.
  pm.addPass(createLfExpandCrossEntropy());
}

void mlir::lf::buildShardPipeline(OpPassManager &pm, const PipelineOptions &options) {
  LfAnnotateOptions annotate;
  annotate.pp = options.pp;
  annotate.dp = options.dp;
  annotate.tp = options.tp;
  annotate.tpRep = options.tpRep;
  annotate.sequenceParallel = options.sequenceParallel;
  pm.addPass(createLfAnnotate(annotate));
  pm.addPass(createLfPropagate());
}

void mlir::lf::buildPartitionPipeline(OpPassManager &pm) {
  pm.addPass(createLfPartition());
  pm.addPass(createLfVerifyPartitioned());
}

void mlir::lf::buildStagePipeline(OpPassManager &pm, const PipelineOptions &options) {
  LfAssignStagesOptions stages;
  stages.layout = options.layout;
  stages.pp = options.pp;
  pm.addPass(createLfAssignStages(stages));
}

void mlir::lf::buildSchedulePipeline(OpPassManager &pm, const PipelineOptions &options) {
  LfBuildScheduleOptions schedule;
  schedule.schedule = options.schedule;
  schedule.microBatches = options.microBatches;
  pm.addPass(createLfBuildSchedule(schedule));
  pm.addPass(createLfVerifySchedule());
}

void mlir::lf::registerPassesAndPipelines() { registerLfPasses(); }
