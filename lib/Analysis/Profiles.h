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

/// What one rank sends in one call.
std::vector<::lf::Traffic> trafficOf(func::FuncOp function, MeshOp mesh);

/// Of @owner.fwd and @owner.bwd, at local shapes.
::lf::LayerProfile profileOf(ModuleOp module, MeshOp mesh, StringRef owner);

/// Elements of the local shard of a parameter.
int64_t localElements(DeclareOp declaration, MeshOp mesh);

int64_t bytesOf(Type type);
/// The name of a group in reports: strategies whose axes are all in it, else single axes, joined by "+"; axes of size 1
/// do not count; "world" when only those are left out; empty for a group of one rank.
std::string groupName(MeshOp mesh, const ::lf::Axes &axes);
/// `times` x each entry, added to `into`.
void addTraffic(std::vector<::lf::Traffic> &into, const std::vector<::lf::Traffic> &list, int64_t times);

} // namespace mlir::lf
