//===- CheckBodies.h - What the sharding passes rely on ---------*- C++ -*-===//
//
// The shape of a pair of functions after lf-differentiate, checked once at the start of each pass that walks it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"

namespace mlir::lf {

/// Checks every @kind.fwd of the module (a function with "lf.outputs") and its @kind.bwd: one block of known ops that ends
/// in a return, tensors of static shape only, counts of outputs, cotangents and saved values that fit together, numbers of ops
/// that are unique, parameters that are declared. Emits an error at the place and fails otherwise.
LogicalResult checkBodies(ModuleOp module);

} // namespace mlir::lf
