//===- Differentiate.cpp - Layer bodies to forward and backward -*- C++ -*-===//
//
// lf-differentiate: reverse mode on the logical program, one function at a time (B2: one sum for each value, B3: no
// dead cotangents). Knows no op by name but lf.param: ops state their own adjoints.
//
//===----------------------------------------------------------------------===//
#include "lf/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::lf {
#define GEN_PASS_DEF_LFDIFFERENTIATE
#include "lf/Dialect/LfPasses.h.inc"
} // namespace mlir::lf

using namespace mlir;
using namespace mlir::lf;

namespace {

bool isReal(Value v) { return isa<FloatType>(cast<RankedTensorType>(v.getType()).getElementType()); }

std::string parameterKey(ParamOp param) { return (param.getOwner().value_or(ownerOf(param)) + "." + param.getName()).str(); }

/// The backward function of one body, while it is written.
class Reverse {
public:
  Reverse(func::FuncOp forward, func::FuncOp backward)
      : forward(forward), backward(backward), body(&backward.getBody().emplaceBlock()), builder(OpBuilder::atBlockEnd(body)) {}

  LogicalResult run();

private:
  Value saved(Value v);
  Value finish(Value v);
  std::string linkOf(Value v);
  void setLink(Value v, StringRef link, bool onlyIfContribution);
  void dropDead();
  void keepSaved();

  func::FuncOp forward, backward;
  Block *body;
  OpBuilder builder;
  DenseMap<Value, Value> inBackward;                     // forward value -> argument (or lf.param) of the backward
  llvm::MapVector<Value, Value> savedArguments;          // forward value -> trailing argument
  llvm::MapVector<Value, SmallVector<Value>> pending;    // forward value -> contributions
  DenseMap<Value, Value> finished;
  llvm::MapVector<StringRef, ParamOp> firstParam;        // owner.name -> the op that stands for the parameter
};

/// The value in the backward of a forward value; asks for it to be saved.
Value Reverse::saved(Value v) {
  if (Value known = inBackward.lookup(v))
    return known;
  if (auto param = v.getDefiningOp<ParamOp>()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(body);
    return inBackward[v] = builder.clone(*param)->getResult(0);
  }
  Value argument = body->addArgument(v.getType(), v.getLoc());
  savedArguments[v] = argument;
  return inBackward[v] = argument;
}

std::string Reverse::linkOf(Value v) {
  if (auto param = v.getDefiningOp<ParamOp>())
    return "gradient:" + parameterKey(param);
  if (auto argument = dyn_cast<BlockArgument>(v))
    return "cotangent:arg" + std::to_string(argument.getArgNumber());
  auto result = cast<OpResult>(v);
  return "cotangent:" + std::to_string(result.getOwner()->getAttrOfType<IntegerAttr>("id").getInt()) + "." + std::to_string(result.getResultNumber());
}

/// Links one result of a backward op. A value that already is the cotangent of something keeps that (sums pass through).
void Reverse::setLink(Value v, StringRef link, bool onlyIfContribution) {
  auto result = dyn_cast<OpResult>(v);
  if (!result)
    return;
  Operation *op = result.getOwner();
  SmallVector<Attribute> links;
  if (auto old = op->getAttrOfType<ArrayAttr>("links"))
    links.assign(old.begin(), old.end());
  links.resize(op->getNumResults(), builder.getStringAttr("contribution"));
  StringRef old = cast<StringAttr>(links[result.getResultNumber()]).getValue();
  if (!onlyIfContribution || old.starts_with("contribution"))
    links[result.getResultNumber()] = builder.getStringAttr(link);
  op->setAttr("links", builder.getArrayAttr(links));
}

/// The cotangent of v: its only contribution, or one n-ary sum of all (B2); null when nothing flows to it.
Value Reverse::finish(Value v) {
  if (Value done = finished.lookup(v))
    return done;
  auto it = pending.find(v);
  if (it == pending.end())
    return {};
  Value total = it->second.front();
  if (it->second.size() > 1) {
    OperationState state(v.getLoc(), SumOp::getOperationName());
    state.addOperands(it->second);
    state.addTypes(v.getType());
    total = builder.create(state)->getResult(0);
  }
  setLink(total, linkOf(v), /*onlyIfContribution=*/true);
  return finished[v] = total;
}

LogicalResult Reverse::run() {
  Block &front = forward.getBody().front();
  auto terminator = cast<func::ReturnOp>(front.getTerminator());
  SmallVector<DictionaryAttr> argumentAttributes;
  auto argument = [&](Value v, StringRef name, Attribute value) {
    argumentAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(name, value)));
    return body->addArgument(v.getType(), v.getLoc());
  };

  // The loss sum starts from 1; every other real output has its cotangent as an argument.
  for (Value output : terminator.getOperands()) {
    auto type = cast<RankedTensorType>(output.getType());
    Operation *producer = output.getDefiningOp();
    bool constant = producer && llvm::none_of(producer->getOperands(), isReal); // a count
    if (!isReal(output) || constant)
      continue;
    if (type.getRank() == 0) {
      OperationState state(output.getLoc(), FillOp::getOperationName());
      state.addTypes(type);
      state.addAttribute("value", builder.getF64FloatAttr(1.0));
      pending[output].push_back(builder.create(state)->getResult(0));
    } else {
      Value cotangent = argument(output, "lf.link", builder.getStringAttr(linkOf(output)));
      pending[output].push_back(cotangent);
    }
  }
  int64_t cotangents = body->getNumArguments();
  for (BlockArgument input : front.getArguments())
    if (!isReal(input))
      inBackward[input] = argument(input, "lf.input", forward.getArgAttr(input.getArgNumber(), "lf.input"));

  auto read = [this](Value v) { return saved(v); };
  for (Operation &op : llvm::reverse(front)) {
    if (isa<ParamOp>(op) || llvm::none_of(op.getOperands(), isReal))
      continue;
    SmallVector<Value> cts;
    for (Value result : op.getResults())
      cts.push_back(finish(result));
    if (llvm::none_of(cts, [](Value ct) { return bool(ct); }))
      continue;
    auto adjoint = dyn_cast<AdjointInterface>(op);
    if (!adjoint)
      return op.emitError() << "expected an op with an adjoint where a derivative flows, got \"" << op.getName() << "\"";
    // Adjoints are stated for the first result; the others (lse, max, sum_exp) are kept for them and have no derivative.
    for (auto [number, ct] : llvm::enumerate(cts))
      if (bool(ct) != (number == 0))
        return op.emitError() << "expected a derivative to flow into result 0 of \"" << op.getName() << "\" only, got one into result "
                              << (number == 0 ? 1 : number);
    AdjointBuilder emitter(builder, &op, read);
    adjoint.buildAdjoint(emitter, cts);
    for (auto [operand, value] : emitter.contributions) {
      Value to = op.getOperand(operand);
      if (!isReal(to))
        continue;
      if (auto param = to.getDefiningOp<ParamOp>()) {
        std::string key = parameterKey(param);
        ParamOp &first = firstParam[builder.getStringAttr(key).getValue()];
        if (!first)
          first = param;
        to = first.getResult(); // a parameter that is used twice is one value
        setLink(value, "contribution:" + key, true);
      } else {
        setLink(value, "contribution", true);
      }
      pending[to].push_back(value);
    }
  }

  for (auto &[key, param] : firstParam) {
    Value gradient = finish(param.getResult());
    // At once after the gradient exists: it need not wait for the rest of the layer.
    OpBuilder::InsertionGuard guard(builder);
    if (Operation *producer = gradient.getDefiningOp())
      builder.setInsertionPointAfter(producer);
    OperationState state(param.getLoc(), AccumulateOp::getOperationName());
    state.addOperands(gradient);
    state.addAttribute("name", param.getNameAttr());
    if (param.getOwnerAttr())
      state.addAttribute("owner", param.getOwnerAttr());
    builder.create(state);
  }
  SmallVector<Value> results;
  for (BlockArgument input : front.getArguments()) {
    if (!isReal(input))
      continue;
    Value cotangent = finish(input);
    if (!cotangent)
      return forward.emitError() << "expected the outputs of @" << forward.getSymName() << " to depend on argument " << input.getArgNumber()
                                 << ", got none that does";
    results.push_back(cotangent);
  }
  func::ReturnOp::create(builder, forward.getLoc(), results);
  dropDead();
  keepSaved();

  argumentAttributes.resize(body->getNumArguments(), builder.getDictionaryAttr({}));
  backward.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), ValueRange(results).getTypes()));
  backward.setAllArgAttrs(argumentAttributes);
  backward->setAttr("lf.cotangents", builder.getI64IntegerAttr(cotangents));
  return success();
}

/// B3: a cotangent that nobody needs must not force a collective, nor a value to be saved.
void Reverse::dropDead() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (op.use_empty() && isPure(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
}

/// The forward also returns what the backward still uses.
void Reverse::keepSaved() {
  auto terminator = cast<func::ReturnOp>(forward.getBody().front().getTerminator());
  forward->setAttr("lf.outputs", builder.getI64IntegerAttr(terminator.getNumOperands()));
  SmallVector<Value> outputs(terminator.getOperands());
  for (auto [value, argument] : llvm::make_early_inc_range(savedArguments)) {
    if (argument.use_empty()) {
      body->eraseArgument(cast<BlockArgument>(argument).getArgNumber());
      continue;
    }
    outputs.push_back(value);
  }
  terminator.getOperandsMutable().assign(outputs);
  forward.setFunctionType(builder.getFunctionType(forward.getArgumentTypes(), ValueRange(outputs).getTypes()));
}

struct Differentiate : public mlir::lf::impl::LfDifferentiateBase<Differentiate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    SmallVector<func::FuncOp> bodies;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && !function.getSymName().contains('.'))
        bodies.push_back(function);
    for (func::FuncOp forward : bodies) {
      if (failed(check(forward)))
        return signalPassFailure();
      int64_t id = 0;
      for (Operation &op : forward.getBody().front())
        if (isa<ShardingRuleInterface>(op))
          op.setAttr("id", builder.getI64IntegerAttr(id++));
      StringRef name = forward.getSymName();
      builder.setInsertionPointAfter(forward);
      auto backward = func::FuncOp::create(builder, forward.getLoc(), (name + ".bwd").str(), builder.getFunctionType({}, {}));
      forward.setSymName((name + ".fwd").str());
      if (failed(Reverse(forward, backward).run()))
        return signalPassFailure();
    }
  }

  /// What Reverse relies on: one block that ends in a return, ops of this dialect, tensors only.
  LogicalResult check(func::FuncOp forward) {
    if (!forward.getBody().hasOneBlock())
      return forward.emitError() << "expected one block in a layer body, got " << forward.getBody().getBlocks().size();
    for (BlockArgument argument : forward.getArguments()) {
      if (!isa<RankedTensorType>(argument.getType()))
        return forward.emitError() << "expected tensors as arguments of a layer body, got " << argument.getType();
      if (!isReal(argument) && !forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input"))
        return forward.emitError() << "expected \"lf.input\" on integer argument " << argument.getArgNumber() << ", got none";
    }
    for (Operation &op : forward.getBody().front())
      if (!isa<ShardingRuleInterface, ParamOp, func::ReturnOp>(op))
        return op.emitError() << "expected a model op in a layer body, got \"" << op.getName() << "\"";
    auto terminator = dyn_cast<func::ReturnOp>(forward.getBody().front().getTerminator());
    if (!terminator)
      return forward.emitError() << "expected a layer body to end in a return";
    for (Type type : terminator.getOperandTypes())
      if (!isa<RankedTensorType>(type))
        return forward.emitError() << "expected tensors as results of a layer body, got " << type;
    return success();
  }
};

} // namespace
