//===- DeviceScratch.h - What a rank takes on a GPU beside its arenas ------===//
//
// Workspaces of products, attention, norms and tables, by the launches of a lowered module.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lfrt.h"

namespace mlir::lfrt {

/// Bytes, the same on every rank of the module: that of the launch that needs most, and the workspace of products. The
/// module's attribute "lf.deterministic" counts.
int64_t deviceScratch(ModuleOp module);

} // namespace mlir::lfrt
