//===- LayoutGraph.cpp - A body as the layout calculus sees it --*- C++ -*-===//
//
// Saved values and integer inputs of the backward are the forward's own values; `links` say what each backward value is
// the cotangent of.
//
//===----------------------------------------------------------------------===//
#include "LayoutGraph.h"

using namespace mlir;
using namespace mlir::lf;

StringRef mlir::lf::nameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  return "";
}

std::string mlir::lf::describe(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  if (StringRef name = nameOf(op->getLoc()); !name.empty())
    text += " \"" + name.str() + "\"";
  return text + " (" + ownerOf(op).str() + ")";
}

namespace {

class GraphBuilder {
public:
  GraphBuilder(func::FuncOp forward, func::FuncOp backward) : forward(forward), backward(backward) {}

  LogicalResult run() {
    for (BlockArgument argument : forward.getArguments()) {
      int id = value(argument, isInteger(argument) ? ::lf::ValueRole::input : ::lf::ValueRole::act);
      if (auto layout = forward.getArgAttrOfType<LayoutAttr>(argument.getArgNumber(), "lf.layout"))
        out.graph.values[id].seed = layout.getLayout();
      arguments.push_back(id);
    }
    for (Operation &op : forward.getBody().front())
      if (failed(add(&op, /*isForward=*/true)))
        return failure();
    auto terminator = cast<func::ReturnOp>(forward.getBody().front().getTerminator());
    int64_t outputs = forward->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
    for (Value output : terminator.getOperands().take_front(outputs))
      out.graph.values[out.ids[output]].output = true;
    return backward ? runBackward(terminator.getOperands().drop_front(outputs)) : success();
  }

  LayoutGraph out;

private:
  static bool isInteger(Value v) { return cast<RankedTensorType>(v.getType()).getElementType().isInteger(32); }

  int value(Value v, ::lf::ValueRole role) {
    int id = out.graph.values.size();
    ::lf::GValue entry;
    std::string name = nameOf(v.getLoc()).str();
    if (auto argument = dyn_cast<BlockArgument>(v); argument && name.empty())
      name = "argument " + std::to_string(argument.getArgNumber());
    entry.name = name.empty() ? "value " + std::to_string(id) : name;
    entry.shape = cast<RankedTensorType>(v.getType()).getShape();
    entry.role = role;
    out.graph.values.push_back(std::move(entry));
    out.ids[v] = id;
    return id;
  }

  LogicalResult runBackward(OperandRange saved) {
    int64_t cotangents = backward->getAttrOfType<IntegerAttr>("lf.cotangents").getInt();
    unsigned firstSaved = backward.getNumArguments() - saved.size();
    for (BlockArgument argument : backward.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (i >= firstSaved) {
        out.ids[argument] = out.ids[saved[i - firstSaved]];
      } else if (int64_t(i) < cotangents) {
        auto link = backward.getArgAttrOfType<StringAttr>(i, "lf.link");
        int id = value(argument, ::lf::ValueRole::cotangent);
        if (!link || failed(applyLink(backward, id, link.getValue())))
          return backward.emitError() << "expected \"lf.link\" on cotangent argument " << i;
      } else {
        auto input = backward.getArgAttrOfType<StringAttr>(i, "lf.input");
        for (BlockArgument primal : forward.getArguments())
          if (input && forward.getArgAttr(primal.getArgNumber(), "lf.input") == input)
            out.ids[argument] = out.ids[primal];
        if (!out.ids.count(argument))
          return backward.emitError() << "expected argument " << i << " to be an integer input of @" << forward.getSymName();
      }
    }
    for (Operation &op : backward.getBody().front())
      if (failed(add(&op, /*isForward=*/false)))
        return failure();
    for (Value output : backward.getBody().front().getTerminator()->getOperands())
      out.graph.values[out.ids[output]].output = true;
    return success();
  }

  LogicalResult add(Operation *op, bool isForward) {
    if (auto param = dyn_cast<ParamOp>(op))
      return parameter(param);
    if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      out.graph.values[out.ids[accumulate.getGradient()]].output = true;
      return success();
    }
    if (isa<func::ReturnOp>(op))
      return success();
    auto rule = dyn_cast<ShardingRuleInterface>(op);
    if (!rule)
      return op->emitError() << "expected an op with a sharding rule, got \"" << op->getName() << "\"";
    ::lf::GOp entry;
    entry.name = describe(op);
    entry.rule = rule.getShardingRule();
    entry.sizes = factorSizes(op);
    if (auto pin = op->getAttrOfType<RolesAttr>("pin"))
      entry.pin = pin.getRoles();
    auto id = op->getAttrOfType<IntegerAttr>(isForward ? "id" : "of");
    if (id && isForward)
      forwardById[id.getInt()] = out.graph.forward.size();
    else if (id) {
      auto it = forwardById.find(id.getInt());
      if (it == forwardById.end())
        return op->emitError() << "expected \"of\" to number an op of @" << forward.getSymName() << ", got " << id.getInt();
      entry.of = it->second;
      // The adjoint uses the letters of its primal op: a factor has one size in both.
      for (auto [factor, size] : out.graph.forward[entry.of].sizes)
        if (auto mine = entry.sizes.find(factor); mine != entry.sizes.end() && mine->second != size)
          return op->emitError() << "expected factor \"" << std::string(1, factor) << "\" of an adjoint to be " << size << " as in its primal op, got "
                                 << mine->second;
    }
    for (Value operand : op->getOperands())
      entry.operands.push_back(out.ids[operand]);
    int index = isForward ? out.graph.forward.size() : out.graph.forward.size() + out.graph.backward.size();
    for (OpResult result : op->getResults()) {
      int v = value(result, isForward ? ::lf::ValueRole::act : ::lf::ValueRole::raw);
      ::lf::GValue &entryValue = out.graph.values[v];
      entryValue.op = index;
      entryValue.result = result.getResultNumber();
      if (auto seed = op->getAttrOfType<LayoutAttr>("seed"); seed && result.getResultNumber() == 0)
        entryValue.seed = seed.getLayout();
      if (isForward && id)
        results[id.getInt()].push_back(v);
      entry.results.push_back(v);
    }
    if (!isForward)
      if (auto links = op->getAttrOfType<ArrayAttr>("links"))
        for (auto [v, link] : llvm::zip(entry.results, links))
          if (failed(applyLink(op, v, cast<StringAttr>(link).getValue())))
            return failure();
    (isForward ? out.forwardOps : out.backwardOps).push_back(op);
    (isForward ? out.graph.forward : out.graph.backward).push_back(std::move(entry));
    return success();
  }

  LogicalResult parameter(ParamOp param) {
    std::string key = (param.getOwner().value_or(ownerOf(param)) + "." + param.getName()).str();
    auto it = parameters.find(key);
    if (it != parameters.end()) {
      out.ids[param.getResult()] = it->second;
      return success();
    }
    DeclareOp declare = DeclareOp::find(param, param.getOwner().value_or(ownerOf(param)), param.getName());
    if (!declare)
      return param.emitError() << "expected a declaration of parameter \"" << key << "\", got none";
    if (declare.getType() != param.getType())
      return param.emitError() << "(C1) expected parameter \"" << key << "\" of type " << declare.getType() << ", got " << param.getType();
    int id = value(param.getResult(), ::lf::ValueRole::param);
    out.graph.values[id].name = param.getName().str();
    if (auto layout = declare.getLayoutAttr()) {
      out.graph.values[id].seed = layout.getLayout();
      out.graph.values[id].closed = layout.getClosedAxes();
    }
    parameters[key] = id;
    return success();
  }

  LogicalResult applyLink(Operation *at, int id, StringRef link) {
    ::lf::GValue &entry = out.graph.values[id];
    auto [kind, name] = link.split(':');
    if (kind == "gradient" || (kind == "contribution" && !name.empty())) {
      auto it = parameters.find(name.str());
      // A parameter that only the forward of another body declares is not seen here.
      if (it == parameters.end())
        return at->emitError() << "expected a link to a parameter of this body, got \"" << link << "\"";
      entry.target = it->second;
      if (entry.shape != out.graph.values[it->second].shape)
        return at->emitError() << "expected a link to a value of the same shape, got \"" << link << "\"";
      return kind == "gradient" ? bind(at, id, ::lf::ValueRole::grad, it->second) : success();
    }
    if (kind == "contribution")
      return success();
    int primal = -1;
    unsigned long long number = 0, result = 0;
    if (StringRef digits = name; digits.consume_front("arg")) {
      if (!digits.getAsInteger(10, number) && number < arguments.size())
        primal = arguments[number];
    } else {
      auto [op, index] = name.split('.');
      if (!op.getAsInteger(10, number) && !index.getAsInteger(10, result)) {
        auto it = results.find(number);
        if (it != results.end() && result < it->second.size())
          primal = it->second[result];
      }
    }
    if (kind != "cotangent" || primal < 0)
      return at->emitError() << "expected a link such as \"cotangent:3.0\", got \"" << link << "\"";
    return bind(at, id, ::lf::ValueRole::cotangent, primal);
  }

  /// A cotangent or gradient lives where its primal value lives (P3), so it has its shape.
  LogicalResult bind(Operation *at, int id, ::lf::ValueRole role, int primal) {
    ::lf::GValue &entry = out.graph.values[id];
    if (entry.shape != out.graph.values[primal].shape)
      return at->emitError() << "expected a link to a value of the same shape, got one to \"" << out.graph.values[primal].name << "\"";
    entry.role = role;
    entry.primal = primal;
    return success();
  }

  func::FuncOp forward, backward;
  SmallVector<int> arguments;
  std::map<int64_t, int> forwardById;
  std::map<int64_t, std::vector<int>> results;
  std::map<std::string, int> parameters;
};

} // namespace

FailureOr<LayoutGraph> mlir::lf::buildLayoutGraph(func::FuncOp forward, func::FuncOp backward) {
  GraphBuilder builder(forward, backward);
  if (failed(builder.run()))
    return failure();
  return std::move(builder.out);
}
