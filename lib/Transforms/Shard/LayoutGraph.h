//===- LayoutGraph.h - A body as the layout calculus sees it ----*- C++ -*-===//
//
// Fills the light graph of lf/Layout/Propagate.h from a pair of functions, and keeps the way back to the IR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Dialect/Lf.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::lf {

/// One @kind.fwd with its @kind.bwd.
struct LayoutGraph {
  ::lf::Graph graph;
  llvm::MapVector<Value, int> ids;                   ///< value of either function -> value of the graph
  SmallVector<Operation *> forwardOps, backwardOps;  ///< parallel to graph.forward and graph.backward
};

/// Builds the graph; emits an error and fails where the functions do not fit together.
FailureOr<LayoutGraph> buildLayoutGraph(func::FuncOp forward, func::FuncOp backward);

/// An op for messages: matmul "q" (decoder).
std::string describe(Operation *op);
/// The name that a location carries, or "".
StringRef nameOf(Location loc);

} // namespace mlir::lf
