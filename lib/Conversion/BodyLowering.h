//===- BodyLowering.h - One function of lf becomes one body of lfrt ----------===//
//
// Values become buffers: saved ones in the bundle, the boundary value where the caller says, the rest in the workspace.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Lowering.h"

namespace mlir::lfrt {

class BodyLowering {
public:
  enum Pass { forwardPass, backwardPass, weightPass };
  BodyLowering(Lowering &l, Kind &kind, Pass pass, OpBuilder &b);
  void run();

private:
  // Bodies.cpp: values
  void findDestinations();
  void copyCrossing(int64_t done); ///< after op number `done` of the backward
  void finish();
  void dropUnusedIntegers();
  bool usedOnce(Value v) const; ///< through the aliases below it
  Value root(Value v) const;
  Value get(Value v);    ///< where v lies; it has been computed
  Value result(Value v); ///< where v is to be written
  Value savedBuffer(const SavedValue &, Type);
  Value slot(StringRef arena, const std::string &name, BufferType, std::optional<int64_t> offset = {});
  Value parameter(StringRef owner, StringRef name, Type, bool gradient);
  Value cut(Value buffer, lf::SliceOp slice); ///< this rank's part of integers
  std::string unique(std::string name);
  std::string label(Operation *op) const; ///< what the op is for: "input_norm", "d_q"

  // Kernels.cpp: model ops
  void lower(Operation *op);
  /// Where v is added to a gradient and used for nothing else, so that its op can do that itself; or null.
  lf::AccumulateOp accumulatorOf(Value v) const;
  Value gradientOf(lf::AccumulateOp);
  void lowerMatmul(lf::MatmulOp op);
  void lowerAccumulate(lf::AccumulateOp op);
  /// Inputs are the op's operands (or `inputs`), outputs its results.
  void launch(Operation *op, StringRef kernel, ArrayRef<Attribute> args);
  void launch(Operation *op, StringRef kernel, ArrayRef<Value> inputs, ArrayRef<Value> outputs,
              ArrayRef<Attribute> args);
  Attribute i(int64_t value) const { return IntegerAttr::get(IntegerType::get(l.module.getContext(), 64), value); }
  Attribute shard(Operation *op, char factor, int64_t scale) const; ///< offset of this rank along a factor

  // Collectives.cpp
  bool lowerCollective(Operation *op);
  void onStream(Location loc, const std::string &comm, llvm::function_ref<void()> emit);
  /// y[b, a, i] = x[a, b, i], or x itself when a or b is 1.
  Value transpose(Operation *op, Value x, Value y, int64_t a, int64_t b, int64_t inner);
  void gather(lf::AllGatherOp op);
  void scatter(lf::ReduceScatterOp op);
  void exchange(lf::AllToAllOp op);
  void reduce(lf::AllReduceOp op);
  void part(lf::SliceOp op);

  Lowering &l;
  Kind &kind;
  Pass pass;
  bool forward;
  func::FuncOp from;
  Body &body;
  OpBuilder &b;
  llvm::DenseMap<Value, Value> aliases, buffers;
  llvm::DenseMap<Value, int64_t> inBundle; ///< root -> byte of the bundle
  Value output;                            ///< root of the boundary value, when it can be written in place
  std::map<int64_t, Value> bundleSlots;
  std::map<std::pair<Name, bool>, Value> parameterBuffers;
  std::map<std::string, int> names;
};

} // namespace mlir::lfrt
