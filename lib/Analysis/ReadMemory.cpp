//===- ReadMemory.cpp - The planned bytes of each rank -----------*- C++ -*-===//
//
// See ReadMemory.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Analysis/ReadMemory.h"
#include "lf/Dialect/Lfrt.h"

using namespace mlir;

void mlir::lf::readMemory(ModuleOp lowered, ::lf::PlanReport &report) {
  for (lfrt::MemoryOp op : lowered.getOps<lfrt::MemoryOp>()) {
    ::lf::RankMemory &memory = report.ranks.at(static_cast<size_t>(op.getPp())).memory;
    memory.parameters = op.getParameters();
    memory.gradients = op.getGradients();
    memory.optimizer = op.getOptimizer();
    memory.saved = op.getSaved();
    memory.workspace = op.getWorkspace().value_or(0);
    memory.staging = op.getStaging();
    memory.driver = op.getDriver();
  }
}
