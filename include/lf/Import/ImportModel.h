//===- ImportModel.h - A model as a logical program -------------------------===//
//
// The first level: one device, whole shapes, one body per layer kind. The plan gives shapes and precision, never a
// layout: how tensors are split is decided by the passes that follow.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Model/ModelConfig.h"
#include "lf/Plan/ParallelPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::lf {

/// The logical module of a model and a resolved plan:
///
///   lf.declare  one for each parameter of "embed", of each layer kind and of "head", as ::lf::parametersOf lists them;
///               the vocabulary dim is plan.paddedVocab, `valid` is without padding
///   lf.chain    embed @embed layers [@decoder] counts [32] head @head
///   @embed      (ids [S, B] i32, positions [S] i32) -> x [S, B, H]
///   @<kind>     (x, positions) -> x
///   @head       (x, labels [S, B] i32) -> (loss_sum, count), scalars
///
/// With multi-token prediction (model.mtpDepths > 0) the final norm leaves @head for a body of its own, and the chain
/// has `final @final mtp @mtp depths N` before the head:
///
///   @final      x -> x
///   @mtp        (x, positions, ids_1, labels_1, ids_2, ...) -> (x, loss_sum of depth 0, count of depth 0, ...)
///
/// S is plan.seqLength; B is plan.microBatch x plan.dp, the micro-batch of all data-parallel ranks. Integer arguments
/// carry `lf.input`. Every op has a NameLoc that says what it computes ("q", "input_norm"). The dialects lf and func
/// must be loadable in `context`. Expects a plan that resolvePlan has accepted for this model; cannot fail then.
OwningOpRef<ModuleOp> importModel(MLIRContext &context, const ::lf::ModelConfig &model, const ::lf::ParallelPlan &plan);

} // namespace mlir::lf
