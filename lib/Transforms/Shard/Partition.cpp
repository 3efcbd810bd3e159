//===- Partition.cpp - Local shapes and explicit collectives ----*- C++ -*-===//
//
// lf-partition: rules R1 to R4. Every collective of a layer body is created in FunctionPartition::convert.
//
//===----------------------------------------------------------------------===//
#include "CheckBodies.h"
#include "LayoutGraph.h"
#include "lf/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFPARTITION
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;
using ::lf::Layout;

namespace {

RankedTensorType wholeType(Value v) { return cast<RankedTensorType>(v.getType()); }

/// A value of the old function as it exists in the new one: one copy for each layout that was made.
struct Copies {
  Layout home;                                      // the copy that the value is bound to
  std::vector<std::pair<Layout, Value>> made;       // in order of making
  Value find(const Layout &layout) const {
    for (const auto &[l, v] : made)
      if (l == layout)
        return v;
    return {};
  }
};

/// Rewrites one function. The old one stays as it is until both of a pair are done.
class FunctionPartition {
public:
  FunctionPartition(const ::lf::Mesh &mesh, func::FuncOp old, int64_t &collectives)
      : mesh(mesh), old(old), collectives(collectives), builder(old.getContext()) {
    builder.setInsertionPoint(old);
    fresh = func::FuncOp::create(builder, old.getLoc(), old.getSymName(), builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(&fresh.getBody().emplaceBlock());
  }

  /// An argument of the new function for `v` in `layout`.
  void bindArgument(Value v, const Layout &layout, bool bound) {
    Value argument = fresh.getBody().front().addArgument(localType(wholeType(v), layout), v.getLoc());
    Copies &copies = env[v];
    copies.made.emplace_back(layout, argument);
    if (bound)
      copies.home = layout;
  }

  LogicalResult rewriteBody();
  /// Ends the function: `results` in order, types and attributes.
  void finish(ValueRange results, ArrayRef<DictionaryAttr> argumentAttributes, ArrayRef<NamedAttribute> attributes);

  RankedTensorType localType(RankedTensorType whole, const Layout &layout) const {
    return RankedTensorType::get(mesh.localShape(whole.getShape().vec(), layout), whole.getElementType());
  }

  DenseMap<Value, Copies> env;
  func::FuncOp fresh;

private:
  Value convert(Value v, Value at, Layout from, const Layout &to, const Twine &why);
  Value use(Value v, const Layout &to, const Twine &why);
  void produce(Value v, Value made, Layout layout, Attribute home, const Twine &why);
  void rewrite(Operation *op);
  void rewriteSum(SumOp op);
  void rewriteParam(ParamOp op);
  LogicalResult rewriteAccumulate(AccumulateOp op);
  Value add(ArrayRef<Value> terms, Location loc);

  const ::lf::Mesh &mesh;
  func::FuncOp old;
  int64_t &collectives;
  OpBuilder builder;
};

/// The steps of one conversion as ops. `v` is the old value: its whole type, its name.
Value FunctionPartition::convert(Value v, Value at, Layout from, const Layout &to, const Twine &why) {
  Location loc = at.getLoc();
  std::string reason = (nameOf(v.getLoc()) + ": " + from.str() + " -> " + to.str() + ", " + why).str();
  for (const ::lf::Step &step : ::lf::conversion(from, to)) {
    Layout next = ::lf::after(from, step);
    auto emit = [&](StringRef op, const ::lf::Axes &axes, ArrayRef<std::pair<StringRef, Attribute>> attributes, RankedTensorType type) {
      OperationState state(loc, op);
      state.addOperands(at);
      state.addTypes(type);
      state.addAttribute("axes", axesAttr(builder.getContext(), axes));
      state.addAttribute("reason", builder.getStringAttr(reason));
      for (auto [name, value] : attributes)
        state.addAttribute(name, value);
      collectives += step.kind != ::lf::StepKind::slice && step.kind != ::lf::StepKind::mask;
      at = builder.create(state)->getResult(0);
    };
    if (step.dim >= wholeType(v).getRank())
      throw ::lf::LayoutError("expected no flat storage in a layer body, got a conversion to or from " + to.str());
    Attribute dim = builder.getI64IntegerAttr(step.dim), reduction = builder.getStringAttr(from.kind == ::lf::Reduction::max ? "max" : "sum");
    RankedTensorType type = localType(wholeType(v), next);
    switch (step.kind) {
    case ::lf::StepKind::slice: emit("lf.slice", step.axes, {{"dim", dim}}, type); break;
    case ::lf::StepKind::mask: emit("lf.mask", step.axes, {}, type); break;
    case ::lf::StepKind::allGather: emit("lf.all_gather", step.axes, {{"dim", dim}}, type); break;
    case ::lf::StepKind::reduceScatter: emit("lf.reduce_scatter", step.axes, {{"dim", dim}, {"reduction", reduction}}, type); break;
    case ::lf::StepKind::allReduce: emit("lf.all_reduce", step.axes, {{"reduction", reduction}}, type); break;
    case ::lf::StepKind::allToAll: {
      Layout between = from;
      for (const ::lf::Step::Move &move : step.moves) {
        ::lf::Step one{::lf::StepKind::allToAll, move.axes, -1, {move}};
        between = ::lf::after(between, one);
        emit("lf.all_to_all", move.axes, {{"from", builder.getI64IntegerAttr(move.from)}, {"to", builder.getI64IntegerAttr(move.to)}},
             localType(wholeType(v), between));
      }
      break;
    }
    }
    from = next;
  }
  return at;
}

/// R1: one conversion for each (value, layout), from the cheapest copy there is.
Value FunctionPartition::use(Value v, const Layout &to, const Twine &why) {
  Copies &copies = env[v];
  if (Value there = copies.find(to))
    return there;
  const auto *best = &copies.made.front();
  auto cost = [&](const Layout &from) { return ::lf::volume(mesh, ::lf::conversion(from, to), wholeType(v).getShape().vec(), from); };
  int64_t lowest = -1;
  // The bound copy first: it wins a tie.
  for (bool home : {true, false})
    for (const auto &copy : copies.made)
      if ((copy.first == copies.home) == home)
        if (int64_t c = cost(copy.first); lowest < 0 || c < lowest) {
          lowest = c;
          best = &copy;
        }
  Value made = convert(v, best->second, best->first, to, why);
  copies.made.emplace_back(to, made);
  return made;
}

void FunctionPartition::produce(Value v, Value made, Layout layout, Attribute homeAttr, const Twine &why) {
  Copies &copies = env[v];
  if (auto attr = dyn_cast_or_null<LayoutAttr>(homeAttr)) {
    Layout home = attr.getLayout();
    if (!home.partial.empty())
      home.kind = layout.kind;
    if (home != layout) {
      if (layout.partial.empty())
        copies.made.emplace_back(layout, made);
      made = convert(v, made, layout, home, why);
      layout = home;
    }
  }
  copies.home = layout;
  copies.made.emplace_back(layout, made);
}

/// R4: a parameter enters in its storage layout.
void FunctionPartition::rewriteParam(ParamOp op) {
  DeclareOp declare = DeclareOp::find(op, op.getOwner().value_or(ownerOf(op)), op.getName());
  Layout layout = declare.getLayoutAttr().getLayout();
  auto param = cast<ParamOp>(builder.clone(*op));
  param.getResult().setType(localType(wholeType(op.getResult()), layout));
  env[op.getResult()] = {layout, {{layout, param.getResult()}}};
}

LogicalResult FunctionPartition::rewriteAccumulate(AccumulateOp op) {
  Copies &copies = env[op.getGradient()];
  auto layout = LayoutAttr::get(builder.getContext(), copies.home);
  IRMapping mapping;
  mapping.map(op.getGradient(), copies.find(copies.home));
  cast<AccumulateOp>(builder.clone(*op, mapping)).setLayoutAttr(layout);
  DeclareOp declare = DeclareOp::find(op, op.getOwner().value_or(ownerOf(op)), op.getName());
  if (declare.getGradientAttr() && declare.getGradientAttr() != layout)
    return op.emitError() << "expected all gradients of parameter \"" << op.getName() << "\" in layout " << declare.getGradientAttr() << ", got "
                          << layout;
  declare.setGradientAttr(layout);
  return success();
}

Value FunctionPartition::add(ArrayRef<Value> terms, Location loc) {
  if (terms.size() == 1)
    return terms.front();
  return SumOp::create(builder, loc, TypeRange(terms.front().getType()), ValueRange(terms))->getResult(0);
}

/// R2: terms of one layout are added first, and each group is converted once.
void FunctionPartition::rewriteSum(SumOp op) {
  std::vector<std::pair<Layout, SmallVector<Value>>> groups;
  for (Value term : op.getTerms()) {
    const Copies &copies = env[term];
    auto it = llvm::find_if(groups, [&](auto &group) { return group.first == copies.home; });
    if (it == groups.end())
      it = groups.insert(groups.end(), {copies.home, {}});
    it->second.push_back(copies.find(copies.home));
  }
  Layout home = groups.front().first;
  if (auto attr = dyn_cast<LayoutAttr>(op.getHomesAttr()[0]))
    home = attr.getLayout();
  SmallVector<Value> converted;
  for (auto &[layout, terms] : groups)
    converted.push_back(convert(op.getResult(), add(terms, op.getLoc()), layout, home, "sum"));
  env[op.getResult()] = {home, {{home, add(converted, op.getLoc())}}};
}

void FunctionPartition::rewrite(Operation *op) {
  auto rule = cast<ShardingRuleInterface>(op).getShardingRule();
  ::lf::GOp entry;
  entry.rule = rule;
  ::lf::Roles roles = op->getAttrOfType<RolesAttr>("roles").getRoles();
  auto homes = op->getAttrOfType<ArrayAttr>("homes");
  std::set<std::string> passed;
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    // What P4 keeps partial is what the operand's home is partial over.
    std::set<std::string> partial = env[operand].home.partial;
    passed.insert(partial.begin(), partial.end());
    operands.push_back(use(operand, ::lf::required(entry, i, roles, partial), "operand of " + describe(op)));
  }
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  SmallVector<Layout> naturals;
  for (auto [j, result] : llvm::enumerate(op->getResults())) {
    naturals.push_back(::lf::natural(entry, j, roles, passed));
    state.addTypes(localType(wholeType(result), naturals.back()));
  }
  for (NamedAttribute attribute : op->getAttrs())
    if (!llvm::is_contained({"id", "of", "links", "seed", "pin", "homes", "roles"}, attribute.getName().getValue()))
      state.addAttribute(attribute.getName(), attribute.getValue());
  ::lf::Roles shards;
  for (char factor : cast<ShardingRuleInterface>(op).getIndexedFactors())
    if (auto it = roles.find(factor); it != roles.end() && !it->second.empty())
      shards.insert(*it);
  if (!shards.empty())
    state.addAttribute("shards", RolesAttr::get(builder.getContext(), shards));
  Operation *local = builder.create(state);
  for (auto [j, result] : llvm::enumerate(op->getResults()))
    produce(result, local->getResult(j), naturals[j], homes[j], "result of " + describe(op));
}

LogicalResult FunctionPartition::rewriteBody() {
  for (Operation &op : old.getBody().front()) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      rewriteParam(param);
    } else if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      if (failed(rewriteAccumulate(accumulate)))
        return failure();
    } else if (auto sum = dyn_cast<SumOp>(op)) {
      rewriteSum(sum);
    } else if (!isa<func::ReturnOp>(op)) {
      rewrite(&op);
    }
  }
  return success();
}

void FunctionPartition::finish(ValueRange results, ArrayRef<DictionaryAttr> argumentAttributes, ArrayRef<NamedAttribute> attributes) {
  func::ReturnOp::create(builder, old.getLoc(), results);
  Block &body = fresh.getBody().front();
  fresh.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), results.getTypes()));
  SmallVector<DictionaryAttr> all(argumentAttributes);
  all.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
  fresh.setAllArgAttrs(all);
  for (NamedAttribute attribute : attributes)
    fresh->setAttr(attribute.getName(), attribute.getValue());
  old.erase();
}

struct Partition : public mlir::lf::impl::LfPartitionBase<Partition> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp meshOp = MeshOp::find(module);
    if (!meshOp || failed(checkDecided(module))) {
      if (!meshOp)
        module.emitError() << "expected an lf.mesh, got none: run lf-annotate and lf-propagate first";
      return signalPassFailure();
    }
    ::lf::Mesh mesh = meshOp.getMesh();
    SmallVector<func::FuncOp> forwards;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("lf.outputs"))
        forwards.push_back(function);
    int64_t inserted = 0;
    for (func::FuncOp forward : forwards) {
      auto backward = module.lookupSymbol<func::FuncOp>((ownerOf(forward) + ".bwd").str());
      Location loc = forward.getLoc();
      try {
        if (failed(run(mesh, forward, backward, inserted)))
          return signalPassFailure();
      } catch (const ::lf::LayoutError &error) {
        emitError(loc) << error.what();
        return signalPassFailure();
      }
    }
    collectives = inserted;
  }

  /// Every decision that the rewriting reads is there.
  LogicalResult checkDecided(ModuleOp module) {
    if (failed(checkBodies(module)))
      return failure();
    for (DeclareOp declare : module.getOps<DeclareOp>())
      if (!declare.getLayoutAttr())
        return declare.emitError() << "expected a layout, got none: run lf-annotate first";
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function->hasAttr("lf.outputs") && !function->hasAttr("lf.cotangents"))
        continue;
      for (BlockArgument argument : function.getArguments())
        if (!function.getArgAttrOfType<LayoutAttr>(argument.getArgNumber(), "lf.layout"))
          return function.emitError() << "expected \"lf.layout\" on argument " << argument.getArgNumber() << ", got none: run lf-propagate first";
      for (Operation &op : function.getBody().front())
        if (isa<ShardingRuleInterface>(op)) {
          auto homes = op.getAttrOfType<ArrayAttr>("homes");
          if (!homes || homes.size() != op.getNumResults() || !op.getAttrOfType<RolesAttr>("roles"))
            return op.emitError() << "expected homes and roles, got none: run lf-propagate first";
          if (failed(checkDecision(op, homes)))
            return failure();
        }
    }
    return success();
  }

  /// Homes are layouts of their results (unit: a contribution); roles divide the factors that they split.
  LogicalResult checkDecision(Operation &op, ArrayAttr homes) {
    ::lf::Mesh mesh = MeshOp::find(&op).getMesh();
    try {
      for (auto [home, result] : llvm::zip(homes, op.getResults())) {
        if (isa<UnitAttr>(home))
          continue;
        auto layout = dyn_cast<LayoutAttr>(home);
        if (!layout || int64_t(layout.getDims().size()) != wholeType(result).getRank())
          return op.emitError() << "expected a layout of " << wholeType(result).getRank() << " dims in \"homes\", got " << home;
        mesh.check(layout.getLayout(), wholeType(result).getShape().vec(), describe(&op));
      }
      std::map<char, int64_t> sizes = factorSizes(&op);
      for (const auto &[factor, axes] : op.getAttrOfType<RolesAttr>("roles").getRoles())
        if (!sizes.count(factor) || sizes[factor] % mesh.size(axes) != 0)
          return op.emitError() << "expected a role of a factor of the op that divides it, got \"" << std::string(1, factor) << "\" over "
                                << mesh.size(axes) << " ranks";
    } catch (const ::lf::LayoutError &error) {
      return op.emitError() << error.what();
    }
    return success();
  }

  LayoutAttr layoutOf(func::FuncOp function, unsigned argument) { return function.getArgAttrOfType<LayoutAttr>(argument, "lf.layout"); }

  LogicalResult run(const ::lf::Mesh &mesh, func::FuncOp forward, func::FuncOp backward, int64_t &inserted) {
    MLIRContext *context = &getContext();
    Builder builder(context);
    auto inputAttribute = [&](func::FuncOp function, unsigned i) {
      SmallVector<NamedAttribute> kept;
      if (Attribute input = function.getArgAttr(i, "lf.input"))
        kept.push_back(builder.getNamedAttr("lf.input", input));
      return builder.getDictionaryAttr(kept);
    };

    FunctionPartition f(mesh, forward, inserted);
    SmallVector<DictionaryAttr> attributes;
    for (BlockArgument argument : forward.getArguments()) {
      f.bindArgument(argument, layoutOf(forward, argument.getArgNumber()).getLayout(), true);
      attributes.push_back(inputAttribute(forward, argument.getArgNumber()));
    }
    if (failed(f.rewriteBody()))
      return failure();
    auto terminator = forward.getBody().front().getTerminator();
    int64_t outputs = forward->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
    SmallVector<Value> results;
    NamedAttrList functionAttributes;
    functionAttributes.set("lf.outputs", builder.getI64IntegerAttr(outputs));
    for (Value output : terminator->getOperands().take_front(outputs)) {
      const Copies &copies = f.env[output];
      results.push_back(copies.find(copies.home));
      if (wholeType(output).getRank() == 0) // loss sum and count: partial over the same axes
        functionAttributes.set("lf.partial", LayoutAttr::get(context, copies.home).getPartial());
    }

    if (!backward) {
      f.finish(results, attributes, functionAttributes.getAttrs());
      return success();
    }
    FunctionPartition b(mesh, backward, inserted);
    SmallVector<DictionaryAttr> backwardAttributes;
    OperandRange saved = terminator->getOperands().drop_front(outputs);
    unsigned firstSaved = backward.getNumArguments() - saved.size();
    for (unsigned i = 0; i < firstSaved; ++i) {
      b.bindArgument(backward.getArgument(i), layoutOf(backward, i).getLayout(), true);
      backwardAttributes.push_back(inputAttribute(backward, i));
    }
    for (unsigned i = firstSaved; i < backward.getNumArguments(); ++i) {
      const Copies &copies = f.env[saved[i - firstSaved]];
      bool bound = true;
      for (const Layout &layout : crossing(mesh, backward.getArgument(i), copies)) {
        b.bindArgument(backward.getArgument(i), layout, bound);
        results.push_back(copies.find(layout));
        bound = false;
      }
    }
    f.finish(results, attributes, functionAttributes.getAttrs());
    if (failed(b.rewriteBody()))
      return failure();
    SmallVector<Value> cotangents;
    for (Value output : backward.getBody().front().getTerminator()->getOperands()) {
      const Copies &copies = b.env[output];
      cotangents.push_back(copies.find(copies.home));
    }
    b.finish(cotangents, backwardAttributes, builder.getNamedAttr("lf.cotangents", backward->getAttr("lf.cotangents")));
    return success();
  }

  /// R3: the layouts in which a saved value crosses to the backward, the one that it is bound to first. Home; or, if the
  /// forward already made every layout that the backward needs and none is larger than the home, those.
  std::vector<Layout> crossing(const ::lf::Mesh &mesh, Value argument, const Copies &copies) {
    std::vector<Layout> needs;
    for (OpOperand &use : argument.getUses()) {
      Operation *op = use.getOwner();
      Layout need = copies.home;
      if (auto rule = dyn_cast<ShardingRuleInterface>(op); rule && !isa<SumOp>(op)) {
        ::lf::GOp entry;
        entry.rule = rule.getShardingRule();
        need = ::lf::required(entry, use.getOperandNumber(), op->getAttrOfType<RolesAttr>("roles").getRoles());
      }
      if (!llvm::is_contained(needs, need))
        needs.push_back(need);
    }
    std::vector<int64_t> shape = wholeType(argument).getShape().vec();
    int64_t room = mesh.localElements(shape, copies.home);
    for (const Layout &need : needs)
      if (!copies.find(need) || mesh.localElements(shape, need) > room)
        return {copies.home};
    llvm::sort(needs, [&](const Layout &a, const Layout &b) {
      return std::pair(a != copies.home, a.str()) < std::pair(b != copies.home, b.str());
    });
    return needs;
  }
};

} // namespace
