//===- Programs.h - Actions, and the programs made of them --------------------===//
//
// One builder for each kind of action; Programs.cpp plans where bundles and messages lie.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Lowering.h"

namespace mlir::lfrt {

/// Makes an action and leaves the builder inside it.
struct ActionBuilder {
  ActionBuilder(Lowering &, OpBuilder &, const std::string &name, const std::string &title, bool input, bool output);
  BufferType boundary() const; ///< of what crosses stages
  Value slot(StringRef name, StringRef arena, BufferType type, int64_t offset);
  Lowering &l;
  OpBuilder &b;
  OpBuilder::InsertionGuard guard;
  Location loc;
  FuncOp func;
};

// The workspace arena of a rank: positions, messages, [two cotangents,] the body's own workspace. `work` and `base` are
// the byte where messages end.
void buildForward(Lowering &, OpBuilder &, const Stage &, int64_t work);
void buildBackward(Lowering &, OpBuilder &, const Stage &, int64_t base);
void buildWeight(Lowering &, OpBuilder &, const Stage &, int64_t base);
/// A copy of the boundary value from `input` to `output`.
void buildTake(Lowering &, OpBuilder &, const std::string &name);
void buildLoad(Lowering &, OpBuilder &, const Stage &);
void buildSend(Lowering &, OpBuilder &, const std::string &name, const std::string &what, int64_t pp, int64_t tag);
void buildReceive(Lowering &, OpBuilder &, const std::string &name, const std::string &what, int64_t pp, int64_t tag);
void buildPost(Lowering &, OpBuilder &, const std::string &name, const std::string &what, int64_t pp, int64_t tag);
/// `copies`: on to the action's output, the bundle.
void buildWait(Lowering &, OpBuilder &, const std::string &name, const std::string &what, int64_t pp, int64_t tag,
               bool copies);

// Of one pipeline rank.
void buildBeginStep(Lowering &, OpBuilder &, int64_t pp);
/// Yields false, and makes nothing, when no gradient needs anything.
bool buildSyncGrads(Lowering &, OpBuilder &, int64_t pp);
void buildOptimizerStep(Lowering &, OpBuilder &, int64_t pp);
/// Elements of the buffer in which the other copy of a tied gradient arrives; 0: none.
int64_t exchangeElements(Lowering &, int64_t pp);

} // namespace mlir::lfrt
