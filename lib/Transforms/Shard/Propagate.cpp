//===- Propagate.cpp - Homes and roles on the IR ----------------*- C++ -*-===//
//
// lf-propagate: runs P1 to P4 of the plain C++ core on each layer body and writes the decisions down.
//
//===----------------------------------------------------------------------===//
#include "CheckBodies.h"
#include "LayoutGraph.h"
#include "lf/Transforms/Passes.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFPROPAGATE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct Propagate : public mlir::lf::impl::LfPropagateBase<Propagate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = MeshOp::find(module);
    if (!mesh) {
      module.emitError() << "expected an lf.mesh, got none: run lf-annotate first";
      return signalPassFailure();
    }
    if (failed(checkBodies(module)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("lf.outputs") && failed(run(mesh, function)))
        return signalPassFailure();
  }

  LogicalResult run(MeshOp mesh, func::FuncOp forward) {
    auto backward = getOperation().lookupSymbol<func::FuncOp>((ownerOf(forward) + ".bwd").str());
    FailureOr<LayoutGraph> built = buildLayoutGraph(forward, backward);
    if (failed(built))
      return failure();
    ::lf::Propagated layouts;
    try {
      layouts = ::lf::propagate(mesh.getMesh(), built->graph);
    } catch (const ::lf::LayoutError &error) {
      return report(error, *built, forward);
    }
    MLIRContext *context = &getContext();
    size_t index = 0;
    for (Operation *op : llvm::concat<Operation *>(built->forwardOps, built->backwardOps)) {
      op->setAttr("roles", RolesAttr::get(context, layouts.roles[index++]));
      SmallVector<Attribute> homes;
      for (Value result : op->getResults()) {
        const auto &home = layouts.home[built->ids[result]];
        homes.push_back(home ? Attribute(LayoutAttr::get(context, *home)) : UnitAttr::get(context));
      }
      op->setAttr("homes", ArrayAttr::get(context, homes));
    }
    for (func::FuncOp function : {forward, backward})
      for (BlockArgument argument : function ? function.getArguments() : MutableArrayRef<BlockArgument>())
        if (const auto &home = layouts.home[built->ids[argument]])
          function.setArgAttr(argument.getArgNumber(), "lf.layout", LayoutAttr::get(context, *home));
    return success();
  }

  /// At the op that cannot be decided, with a note at each source.
  LogicalResult report(const ::lf::LayoutError &error, const LayoutGraph &built, func::FuncOp forward) {
    int forwards = built.forwardOps.size();
    Operation *at = forward;
    if (error.op >= 0)
      at = error.op < forwards ? built.forwardOps[error.op] : built.backwardOps[error.op - forwards];
    InFlightDiagnostic diag = at->emitError() << error.what();
    for (auto [value, id] : built.ids)
      if (llvm::is_contained(error.sources, id) && value.getParentRegion() == &forward.getBody())
        diag.attachNote(value.getLoc()) << "\"" << built.graph.values[id].name << "\" is here";
    return diag;
  }
};
} // namespace
