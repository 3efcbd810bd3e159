//===- Annotate.cpp - Mesh, seeds, pins --------------------------*- C++ -*-===//
//
// lf-annotate: all that the parallel strategies say. Every collective follows from these seeds; none is named here.
//
//===----------------------------------------------------------------------===//
#include "CheckBodies.h"
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFANNOTATE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {
struct Annotate : public mlir::lf::impl::LfAnnotateBase<Annotate> {
  using LfAnnotateBase::LfAnnotateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (MeshOp old = MeshOp::find(module)) {
      old.emitError() << "expected a module without a mesh, got one already annotated";
      return signalPassFailure();
    }
    if (tpRep < 1 || tp < 1 || dp < 1 || pp < 1 || tp % tpRep != 0) {
      module.emitError() << "expected positive sizes and tp a multiple of tp-rep, got pp " << pp.getValue() << ", dp " << dp.getValue() << ", tp "
                         << tp.getValue() << ", tp-rep " << tpRep.getValue();
      return signalPassFailure();
    }
    if (failed(checkBodies(module)))
      return signalPassFailure();
    makeMesh();
    bool ok = true;
    for (DeclareOp declare : module.getOps<DeclareOp>())
      ok = seedParameter(declare) && ok;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("lf.outputs"))
        ok = seedFunction(function) && ok;
    if (!ok)
      signalPassFailure();
  }

  /// Axes of size 1 stand in the mesh, so that every plan has the same names, but never in a layout.
  void makeMesh() {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(getOperation().getBody());
    bool split = tpRep > 1;
    SmallVector<std::pair<std::string, int64_t>> list = {{"pp", pp}, {"dp", dp}, {"cp", 1}};
    if (split)
      list.append({{"tp_kv", tp / tpRep}, {"tp_rep", tpRep}});
    else
      list.push_back({"tp", tp});
    SmallVector<StringRef> names;
    SmallVector<int64_t> sizes;
    for (auto &[name, size] : list) {
      names.push_back(name);
      sizes.push_back(size);
    }
    auto one = [&](StringRef name) { return builder.getNamedAttr(name, builder.getStrArrayAttr(name)); };
    NamedAttribute tpNames = split ? builder.getNamedAttr("tp", builder.getStrArrayAttr({"tp_kv", "tp_rep"})) : one("tp");
    MeshOp::create(builder, getOperation().getLoc(), builder.getStrArrayAttr(names), builder.getDenseI64ArrayAttr(sizes),
                   builder.getDictionaryAttr({one("pp"), one("dp"), one("cp"), tpNames}));

    auto use = [&](StringRef axis, int64_t size) { return size > 1 ? ::lf::Axes{axis.str()} : ::lf::Axes{}; };
    lists["dp"] = use("dp", dp);
    lists["cp"] = {};
    lists["tp_kv"] = split ? use("tp_kv", tp / tpRep) : use("tp", tp);
    lists["tp_rep"] = split ? use("tp_rep", tpRep) : ::lf::Axes{};
    lists["tp"] = lists["tp_kv"];
    lists["tp"].insert(lists["tp"].end(), lists["tp_rep"].begin(), lists["tp_rep"].end());
    lists[""] = {};
  }

  /// TP: each dim of a parameter over the list that its declaration names.
  bool seedParameter(DeclareOp declare) {
    ::lf::Layout layout;
    for (Attribute split : declare.getSplit()) {
      auto list = lists.find(cast<StringAttr>(split).getValue().str());
      if (list == lists.end())
        return declare.emitError() << "expected a split of \"\", \"tp\", \"tp_kv\" or \"tp_rep\", got " << split, false;
      layout.dims.push_back(list->second);
    }
    ::lf::Axes closed;
    for (Attribute name : declare.getClosed()) {
      auto list = lists.find(cast<StringAttr>(name).getValue().str());
      if (list == lists.end())
        return declare.emitError() << "expected a closed list of \"tp\", \"tp_kv\" or \"tp_rep\", got " << name, false;
      closed.insert(closed.end(), list->second.begin(), list->second.end());
    }
    try {
      MeshOp::find(declare).getMesh().check(layout, cast<RankedTensorType>(declare.getType()).getShape().vec(),
                                            (declare.getOwner() + "." + declare.getName()).str());
    } catch (const ::lf::LayoutError &error) {
      return declare.emitError() << error.what(), false;
    }
    declare.setLayoutAttr(LayoutAttr::get(&getContext(), layout, closed));
    return true;
  }

  /// DP and CP: ids and labels. SP: the residual stream, at every boundary of a layer and where an op says `stream`.
  /// Positions are a constant: whole.
  bool seedFunction(func::FuncOp function) {
    ::lf::Axes sequence = lists["cp"];
    if (sequenceParallel)
      sequence.insert(sequence.end(), lists["tp"].begin(), lists["tp"].end());
    auto stream = [&](Value v) {
      ::lf::Layout layout = ::lf::Layout::whole(cast<RankedTensorType>(v.getType()).getRank());
      layout.dims[0] = sequence;
      layout.dims[1] = lists["dp"];
      return LayoutAttr::get(&getContext(), layout);
    };
    for (BlockArgument argument : function.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      StringAttr input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input");
      if (!type || (!input && type.getRank() < 2))
        return function.emitError() << "expected argument " << argument.getArgNumber() << " to be [S, B, ...], got " << argument.getType(), false;
      LayoutAttr layout;
      if (!input)
        layout = stream(argument);
      else if (input.getValue() == "positions" || type.getRank() != 2)
        layout = LayoutAttr::get(&getContext(), ::lf::Layout::whole(type.getRank()));
      else
        layout = LayoutAttr::get(&getContext(), ::lf::Layout{{lists["cp"], lists["dp"]}, {}, ::lf::Reduction::sum, {}});
      function.setArgAttr(argument.getArgNumber(), "lf.layout", layout);
    }
    function.walk([&](Operation *op) {
      if (op->removeAttr("stream"))
        op->setAttr("seed", stream(op->getResult(0)));
    });
    auto terminator = dyn_cast<func::ReturnOp>(function.getBody().front().getTerminator());
    int64_t outputs = function->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
    if (!terminator || outputs < 0 || outputs > int64_t(terminator.getNumOperands()))
      return function.emitError() << "expected \"lf.outputs\" between 0 and the number of results, got " << outputs, false;
    for (Value output : terminator.getOperands().take_front(outputs))
      if (Operation *producer = output.getDefiningOp(); producer && cast<RankedTensorType>(output.getType()).getRank() >= 2)
        producer->setAttr("seed", stream(output));
    return true;
  }

  std::map<std::string, ::lf::Axes> lists; // name in a declaration -> mesh axes of a size above 1
};
} // namespace
