//===- Profiles.h - Costs of single functions -------------------------------===//
//
// Internal to lib/Analysis.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"
#include "lf/Planner/PlanReport.h"

namespace mlir::lf {

struct Cost {
  int64_t flops = 0, bytes = 0;
};
/// Of all ops of a function at their present shapes.
Cost costOf(func::FuncOp function);

/// Of @owner.fwd and @owner.bwd, at local shapes; what they send is filled in by readTraffic.
::lf::LayerProfile profileOf(ModuleOp module, MeshOp mesh, StringRef owner);

/// Elements of the local shard of a parameter.
int64_t localElements(DeclareOp declaration, MeshOp mesh);

int64_t bytesOf(Type type);

} // namespace mlir::lf
