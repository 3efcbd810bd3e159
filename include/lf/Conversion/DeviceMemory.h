//===- DeviceMemory.h - What a rank takes on a GPU beside its arenas ------===//
//
// Workspaces of products, attention, norms and tables, by the launches of a lowered module; places of messages; what the
// driver and NCCL take.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lfrt.h"

namespace mlir::lfrt {

/// Sets `staging` and `driver` (bytes) of every lfrt.memory of the module. Staging: the launch that needs most, the workspace
/// of products, and the places of the pipeline rank's messages. The module's attribute "lf.deterministic" counts.
void planDeviceMemory(ModuleOp module);

} // namespace mlir::lfrt
