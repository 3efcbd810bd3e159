//===- Pipelines.cpp - The order of passes, by phase -------------*- C++ -*-===//
//
// Each order constraint has its reason beside it.
//
//===----------------------------------------------------------------------===//
#include "lf/Pipelines/Pipelines.h"
#include "lf/Schedule/Algorithms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "lf/Conversion/Conversion.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::lf;

void mlir::lf::registerDialects(DialectRegistry &registry) { registry.insert<LfDialect, lfrt::LfrtDialect, func::FuncDialect, emitc::EmitCDialect>(); }

void mlir::lf::buildTrainPipeline(OpPassManager &pm) {
  pm.addPass(createLfDifferentiate());
  // After differentiation: cross entropy has one adjoint, stated for the whole of it.
  pm.addPass(createLfExpandCrossEntropy());
  // After both, which copy types; before propagation, so that every collective has its final type.
  pm.addPass(createLfMixedPrecision());
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
  // Here and not with partition: only a schedule asks for it. After lf-partition: what crosses has its local shape.
  auto kind = ::lf::parseSchedule(options.schedule);
  if (::lf::poseProblem(kind, {}).splitWeightGradient)
    pm.addPass(createLfSplitBackward());
  LfAssignStagesOptions stages;
  stages.layout = options.layout;
  stages.pp = options.pp;
  stages.vpp = options.vpp;
  stages.vee = ::lf::placementOf(kind) == ::lf::PlacementKind::vee;
  pm.addPass(createLfAssignStages(stages));
}

void mlir::lf::buildSchedulePipeline(OpPassManager &pm, const PipelineOptions &options) {
  LfBuildScheduleOptions schedule;
  schedule.schedule = options.schedule;
  schedule.microBatches = options.microBatches;
  schedule.groupSize = options.groupSize;
  schedule.overlapP2p = options.overlapP2p;
  pm.addPass(createLfBuildSchedule(schedule));
  pm.addPass(createLfVerifySchedule());
}

namespace {
/// The plan as the pipelines of lf-opt take it; names are those of the passes.
struct PlanOptions : PassPipelineOptions<PlanOptions> {
  Option<int64_t> pp{*this, "pp", llvm::cl::desc("pipeline-parallel size"), llvm::cl::init(1)};
  Option<int64_t> dp{*this, "dp", llvm::cl::desc("data-parallel size"), llvm::cl::init(1)};
  Option<int64_t> tp{*this, "tp", llvm::cl::desc("tensor-parallel size"), llvm::cl::init(1)};
  Option<int64_t> tpRep{*this, "tp-rep", llvm::cl::desc("part of tp that repeats kv heads"), llvm::cl::init(1)};
  Option<bool> sequenceParallel{*this, "sequence-parallel", llvm::cl::desc("split the residual stream over tp too"), llvm::cl::init(false)};
  Option<std::string> layout{*this, "layout", llvm::cl::desc("layout string; empty: equal parts"), llvm::cl::init("")};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("order of the passes"), llvm::cl::init("1f1b")};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("micro-batches of a step"), llvm::cl::init(1)};

  PipelineOptions get() const {
    PipelineOptions options;
    options.pp = pp;
    options.dp = dp;
    options.tp = tp;
    options.tpRep = tpRep;
    options.microBatches = microBatches;
    options.sequenceParallel = sequenceParallel;
    options.layout = layout;
    options.schedule = schedule;
    return options;
  }
};
} // namespace

void mlir::lf::registerPassesAndPipelines() {
  registerLfPasses();
  lfrt::registerLfrtPasses();
  PassPipelineRegistration<>("lf-train", "phase train: forward and backward bodies", buildTrainPipeline);
  PassPipelineRegistration<PlanOptions>("lf-shard", "phases shard and spmd: layouts, local shapes, collectives",
                                        [](OpPassManager &pm, const PlanOptions &plan) {
                                          buildShardPipeline(pm, plan.get());
                                          buildPartitionPipeline(pm);
                                        });
  PassPipelineRegistration<PlanOptions>("lf-pipeline", "phases pipeline and schedule: stages, one program for each pipeline rank",
                                        [](OpPassManager &pm, const PlanOptions &plan) {
                                          buildStagePipeline(pm, plan.get());
                                          buildSchedulePipeline(pm, plan.get());
                                        });
  PassPipelineRegistration<>("lf-lower", "phase runtime: buffers, streams, launches", buildLowerPipeline);
}
