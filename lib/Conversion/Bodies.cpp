//===- Bodies.cpp - Values of a layer's function as buffers ------*- C++ -*-===//
//
// Aliases, places of results, and the frame of a body; Kernels.cpp and Collectives.cpp lower its ops.
//
//===----------------------------------------------------------------------===//
#include "BodyLowering.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::lfrt {

void lowerBodies(Lowering &l, OpBuilder &b) {
  for (auto &[name, kind] : l.kinds) {
    BodyLowering(l, kind, BodyLowering::forwardPass, b).run();
    BodyLowering(l, kind, BodyLowering::backwardPass, b).run();
    if (kind.weight)
      BodyLowering(l, kind, BodyLowering::weightPass, b).run();
  }
}

BodyLowering::BodyLowering(Lowering &l, Kind &kind, Pass pass, OpBuilder &b)
    : l(l), kind(kind), pass(pass), forward(pass == forwardPass), from(forward                ? kind.forward
                                                                       : pass == backwardPass ? kind.backward
                                                                                              : kind.weight),
      body(forward                ? kind.fwd
           : pass == backwardPass ? kind.bwd
                                  : kind.wgt),
      b(b), aliases(aliasesOf(l.groups, from)) {}

static StringAttr inputOf(func::FuncOp function, unsigned argument) {
  return function.getArgAttrOfType<StringAttr>(argument, "lf.input");
}

void BodyLowering::run() {
  MLIRContext *context = l.module.getContext();
  body.parameters = parametersOf(from);
  BufferType boundary = BufferType::get(context, l.real, l.hidden);
  std::vector<std::pair<std::string, Type>> arguments;
  bool hasInput = forward ? !kind.isEmbed : pass == backwardPass && !kind.isHead;
  bool hasOutput = forward ? !kind.isHead : pass == backwardPass && !kind.isEmbed;
  if (hasInput)
    arguments.emplace_back("input", boundary);
  for (BlockArgument argument : from.getArguments())
    if (StringAttr input = inputOf(from, argument.getArgNumber())) {
      body.integers.push_back(input.str());
      body.integerTypes.push_back(tensorOf(argument));
      arguments.emplace_back(input.str(), bufferFor(argument.getType()));
    }
  if (hasOutput)
    arguments.emplace_back("output", boundary);

  SmallVector<Attribute> argumentNames;
  for (auto &[name, type] : arguments)
    argumentNames.push_back(b.getStringAttr(name));
  std::string title = kind.name + (forward              ? ", forward"
                                   : pass == weightPass ? ", gradients of weights"
                                   : kind.weight        ? ", gradient of the input"
                                                        : ", backward");
  body.func = FuncOp::create(b, from.getLoc(), b.getStringAttr(from.getSymName()), b.getStringAttr("body"),
                             b.getStringAttr(title), b.getArrayAttr(argumentNames), IntegerAttr(), IntegerAttr());
  Block *block = &body.func.getBody().emplaceBlock();
  for (auto &[name, type] : arguments)
    block->addArgument(type, from.getLoc());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);

  int64_t cotangents = pass != backwardPass ? 0 : from->getAttrOfType<IntegerAttr>("lf.cotangents").getInt();
  int64_t saved = 0, crossed = 0;
  std::vector<std::pair<BlockArgument, SavedValue *>> late;
  for (BlockArgument argument : from.getArguments()) {
    if (StringAttr input = inputOf(from, argument.getArgNumber()))
      buffers[argument] = body.func.getArgument(input.getValue());
    else if (forward || argument.getArgNumber() < cotangents)
      buffers[argument] = body.func.getArgument("input");
    else if (pass == backwardPass)
      late.emplace_back(argument, &kind.saved[saved++]);
    else if (auto number = from.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "lf.saved"))
      late.emplace_back(argument, &kind.saved[number.getInt()]);
    else
      late.emplace_back(argument, &kind.crossing[crossed++].place);
  }
  // After the integers, of which saved parts are cut again.
  for (auto [argument, value] : late)
    if (!argument.use_empty())
      buffers[argument] = savedBuffer(*value, argument.getType());
  findDestinations();
  int64_t number = -1;
  copyCrossing(number);
  for (Operation &op : from.front().without_terminator()) {
    lower(&op);
    copyCrossing(++number);
  }
  finish();
  dropUnusedIntegers();
}

void BodyLowering::dropUnusedIntegers() {
  SmallVector<Attribute> kept;
  llvm::BitVector unused(body.func.getBody().getNumArguments());
  std::vector<std::string> integers;
  std::vector<RankedTensorType> types;
  size_t next = 0;
  for (auto [argument, name] : llvm::zip(body.func.getBody().getArguments(), body.func.getNames())) {
    StringRef text = cast<StringAttr>(name).getValue();
    bool isInteger = text != "input" && text != "output";
    if (isInteger && argument.use_empty()) {
      unused.set(argument.getArgNumber());
      ++next;
      continue;
    }
    kept.push_back(name);
    if (isInteger) {
      integers.push_back(body.integers[next]);
      types.push_back(body.integerTypes[next++]);
      l.usesPositions |= text == "positions";
    }
  }
  body.func.getBody().front().eraseArguments(unused);
  body.func.setNamesAttr(b.getArrayAttr(kept));
  body.integers = std::move(integers);
  body.integerTypes = std::move(types);
}

bool BodyLowering::usedOnce(Value v) const {
  if (!v.hasOneUse())
    return false;
  auto it = aliases.find(v);
  return it == aliases.end() || usedOnce(it->second);
}

Value BodyLowering::root(Value v) const { return rootOf(aliases, v); }

Value rootOf(const llvm::DenseMap<Value, Value> &aliases, Value v) {
  for (auto it = aliases.find(v); it != aliases.end(); it = aliases.find(v))
    v = it->second;
  return v;
}

/// Whether the weight pass of this backward reads the saved value that argument `v` is.
static bool readLater(func::FuncOp backward, Value v) {
  auto argument = dyn_cast<BlockArgument>(v);
  auto weight =
      backward->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>((lf::ownerOf(backward) + ".wgrad").str());
  if (!argument || !weight || weight == backward)
    return false;
  int64_t firstSaved = backward.getNumArguments();
  while (firstSaved > 0 && !backward.getArgAttr(firstSaved - 1, "lf.input") &&
         firstSaved > backward->getAttrOfType<IntegerAttr>("lf.cotangents").getInt())
    --firstSaved;
  for (unsigned i = 0; i < weight.getNumArguments(); ++i)
    if (auto number = weight.getArgAttrOfType<IntegerAttr>(i, "lf.saved");
        number && number.getInt() + firstSaved == argument.getArgNumber())
      return true;
  return false;
}

llvm::DenseMap<Value, Value> aliasesOf(const Groups &groups, func::FuncOp from) {
  llvm::DenseMap<Value, Value> aliases;
  // Through the aliases above it, all of which are known: ops are in order.
  auto usedOnce = [&](Value v) {
    for (;; v = aliases.lookup(v)) {
      if (!v.hasOneUse())
        return false;
      if (!aliases.count(v))
        return true;
    }
  };
  for (Operation &op : from.front()) {
    if (isIdentity(groups, &op) || isa<lf::DepthLossOp>(op)) {
      aliases[op.getResult(0)] = op.getOperand(0);
    } else if (auto reduce = dyn_cast<lf::AllReduceOp>(op)) {
      Value x = rootOf(aliases, reduce.getX());
      if (usedOnce(reduce.getX()) && x.getDefiningOp() && !isa<lf::ParamOp>(x.getDefiningOp()))
        aliases[reduce.getResult()] = reduce.getX();
    } else if (auto grad = dyn_cast<lf::CrossEntropyGradOp>(op)) {
      // The logits are the largest value of all, and nothing reads them afterwards.
      if (usedOnce(grad.getLogits()) && !readLater(from, rootOf(aliases, grad.getLogits())))
        aliases[grad.getResult()] = grad.getLogits();
    }
  }
  return aliases;
}

void BodyLowering::findDestinations() {
  Operation *end = from.front().getTerminator();
  int64_t crossing = pass == backwardPass ? kind.crossing.size() : 0;
  int64_t outputs =
      forward ? from->getAttrOfType<IntegerAttr>("lf.outputs").getInt() : end->getNumOperands() - crossing;
  auto lies = [&](Value v, const SavedValue &saved) {
    if (Value r = root(v); saved.from == SavedValue::inBundle && !isa<BlockArgument>(r))
      inBundle[r] = saved.offset;
  };
  if (forward)
    for (auto [v, saved] : llvm::zip(end->getOperands().drop_front(outputs), kind.saved))
      lies(v, saved);
  else
    for (auto [v, value] : llvm::zip(end->getOperands().drop_front(outputs), kind.crossing))
      if (!value.copyAfter)
        lies(v, value.place);
  if (body.func.getArgument("output") && end->getNumOperands() > 0) {
    Value r = root(end->getOperand(0));
    if (!isa<BlockArgument>(r) && !inBundle.count(r) && !isa<lf::ParamOp>(r.getDefiningOp()))
      output = r;
  }
}

/// What crosses but could not be made in its place: that was still read, or the value is the caller's.
void BodyLowering::copyCrossing(int64_t done) {
  if (pass != backwardPass)
    return;
  llvm::SmallPtrSet<Value, 4> copied;
  OperandRange values = from.front().getTerminator()->getOperands().take_back(kind.crossing.size());
  for (auto [v, value] : llvm::zip(values, kind.crossing)) {
    Value r = root(v);
    if (value.copyAfter != done || !copied.insert(r).second)
      continue;
    std::string name = isa<BlockArgument>(r) ? "dy" : label(r.getDefiningOp());
    kind.names[value.place.offset] = name;
    Value kept = slot("bundle", unique(name), bufferFor(r.getType()), value.place.offset);
    LaunchOp::create(b, from.getLoc(), "copy", name, ValueRange(get(v)), ValueRange(kept),
                     b.getArrayAttr({i(tensorOf(r).getNumElements())}));
  }
}

void BodyLowering::finish() {
  Operation *end = from.front().getTerminator();
  if (Value out = body.func.getArgument("output");
      out && end->getNumOperands() > 0 && root(end->getOperand(0)) != output)
    launch(end, "copy", {get(end->getOperand(0))}, {out}, {i(l.hidden)});
  if (forward && (kind.isHead || kind.isMtp)) {
    ::lf::Axes counted = l.groups.mesh.getStrategy("pp");
    if (auto partial = from->getAttrOfType<ArrayAttr>("lf.partial"))
      llvm::append_range(counted, lf::axesOf(partial));
    ::lf::Axes repeated;
    for (const std::string &axis : l.groups.trim(lf::axesOf(l.groups.mesh.getAxes())))
      if (!llvm::is_contained(counted, axis))
        repeated.push_back(axis);
    // After the stream, the loss sum and the count of each depth; or those of the model alone.
    int64_t outputs = from->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
    for (int64_t at = kind.isMtp, depth = 0; at + 1 < outputs; at += 2, ++depth)
      AddLossOp::create(b, from.getLoc(), get(end->getOperand(at)), get(end->getOperand(at + 1)),
                        lf::axesAttr(b.getContext(), repeated),
                        kind.isMtp ? b.getI64IntegerAttr(depth) : IntegerAttr());
  }
}

std::string BodyLowering::unique(std::string name) {
  int n = names[name]++;
  return n ? name + "_" + std::to_string(n + 1) : name;
}

Value BodyLowering::slot(StringRef arena, const std::string &name, BufferType type, std::optional<int64_t> offset) {
  return SlotOp::create(b, from.getLoc(), type, b.getStringAttr(name), b.getStringAttr(arena),
                        offset ? b.getI64IntegerAttr(*offset) : IntegerAttr());
}

Value BodyLowering::parameter(StringRef owner, StringRef name, Type type, bool gradient) {
  Name key(owner.str(), name.str());
  Value &known = parameterBuffers[{key, gradient}];
  if (known)
    return known;
  int64_t index = llvm::find(body.parameters, key) - body.parameters.begin();
  if (gradient)
    known = GradientOp::create(b, from.getLoc(), bufferFor(type), owner, name, index);
  else
    known = ParamOp::create(b, from.getLoc(), bufferFor(type), owner, name, index);
  return known;
}

Value BodyLowering::savedBuffer(const SavedValue &saved, Type type) {
  if (saved.from == SavedValue::parameter)
    return parameter(saved.name.first, saved.name.second, type, false);
  if (saved.from == SavedValue::integer) {
    Value v = body.func.getArgument(saved.input);
    for (lf::SliceOp slice : saved.slices)
      v = cut(v, slice);
    return v;
  }
  Value &known = bundleSlots[saved.offset];
  if (!known)
    known = slot("bundle", unique(kind.names[saved.offset]), bufferFor(type), saved.offset);
  return known;
}

Value BodyLowering::get(Value v) {
  auto it = buffers.find(root(v));
  return it == buffers.end() ? Value() : it->second;
}

Value BodyLowering::result(Value v) {
  Value r = root(v);
  if (Value known = buffers.lookup(r))
    return known;
  Value &place = buffers[r];
  std::string name = unique(label(r.getDefiningOp()));
  if (r == output) {
    place = body.func.getArgument("output");
  } else if (auto it = inBundle.find(r); it != inBundle.end()) {
    kind.names[it->second] = name;
    place = slot("bundle", name, bufferFor(r.getType()), it->second);
  } else {
    place = slot("workspace", name, bufferFor(r.getType()));
  }
  return place;
}

std::string BodyLowering::label(Operation *op) const {
  std::string name = op->getName().stripDialect().str();
  bool adjoint = !forward;
  if (isa<lf::CollectiveInterface>(op)) {
    Value source = buffers.lookup(root(op->getOperand(0)));
    auto slot = source ? source.getDefiningOp<SlotOp>() : SlotOp();
    auto param = source ? source.getDefiningOp<ParamOp>() : ParamOp();
    std::string of = slot ? slot.getName().str() : param ? param.getName().str() : forward ? "x" : "dy";
    return of + (isa<lf::AllGatherOp>(op) ? "_whole" : isa<lf::AllReduceOp>(op) ? "_total" : "_part");
  }
  if (auto param = dyn_cast<lf::ParamOp>(op))
    return param.getName().str();
  if (auto loc = dyn_cast<NameLoc>(op->getLoc()))
    return (adjoint ? "d_" : "") + loc.getName().str();
  if (!isa<lf::SumOp>(op))
    for (Value v : op->getOperands()) {
      Operation *source = v.getDefiningOp();
      while (isa_and_nonnull<lf::CollectiveInterface>(source))
        source = source->getOperand(0).getDefiningOp();
      if (auto param = dyn_cast_or_null<lf::ParamOp>(source))
        return (adjoint ? "d_" : "") + param.getName().str();
    }
  for (Operation *user : op->getUsers())
    if (auto accumulate = dyn_cast<lf::AccumulateOp>(user); accumulate && op->getNumResults() == 1)
      return accumulate.getName().str() + "_grad";
  if (StringRef(name).ends_with("_grad"))
    return "d_" + name.substr(0, name.size() - 5);
  return (adjoint ? "d_" : "") + name;
}

} // namespace mlir::lfrt
