//===- EmitCpp.h - Planned lfrt as C++ --------------------------------------===//
//
// One readable host program: tables, a function for each body and action, a table of actions for each pipeline rank.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::lf {

/// A new module of emitc ops that says the same as `module`, which lf-verify-lowered accepts. Strings come from the
/// module's attributes lf.name, lf.config, lf.plan and lf.report, and lf.flops_per_token (f64); absent: empty, 0.
OwningOpRef<ModuleOp> buildEmitC(ModuleOp module);
/// Prints buildEmitC(module) as C++ that includes lf/runtime.h alone.
LogicalResult emitCpp(ModuleOp module, raw_ostream &os);

} // namespace mlir::lf
