//===- Passes.h - The passes on lf -----------------------------------------===//
//
// Declarations generated from dialects/lf/LfPasses.td, which documents each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"
#include "mlir/Pass/Pass.h"

namespace mlir::lf {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf
