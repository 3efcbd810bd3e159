//===- StageActions.cpp - The passes of a stage as actions -------*- C++ -*-===//
//
// A forward or backward of a stage calls bodies in loops; load, send and receive are actions of one op.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

namespace mlir::lfrt {

ActionBuilder::ActionBuilder(Lowering &l, OpBuilder &b, const std::string &name, const std::string &title, bool input,
                             bool output)
    : l(l), b(b), guard(b), loc(l.module.getLoc()) {
  SmallVector<Attribute> names;
  if (input)
    names.push_back(b.getStringAttr("input"));
  if (output)
    names.push_back(b.getStringAttr("output"));
  func = FuncOp::create(b, loc, b.getStringAttr(name), b.getStringAttr("action"), b.getStringAttr(title),
                        b.getArrayAttr(names), IntegerAttr(), IntegerAttr());
  Block *block = &func.getBody().emplaceBlock();
  for (size_t i = 0; i < names.size(); ++i)
    block->addArgument(boundary(), loc);
  b.setInsertionPointToStart(block);
}

BufferType ActionBuilder::boundary() const { return BufferType::get(l.module.getContext(), l.real, l.hidden); }

Value ActionBuilder::slot(StringRef name, StringRef arena, BufferType type, int64_t offset) {
  return SlotOp::create(b, loc, type, b.getStringAttr(name), b.getStringAttr(arena), b.getI64IntegerAttr(offset));
}

/// The integers that a body takes: ids and labels of the stage's bundle, the positions of the workspace.
static SmallVector<Value> integersOf(ActionBuilder &a, const Stage &stage, const Body &body) {
  SmallVector<Value> values;
  for (auto [name, tensor] : llvm::zip(body.integers, body.integerTypes)) {
    BufferType type = bufferFor(tensor);
    auto tokens = llvm::find_if(stage.tokens, [&](const auto &known) { return known.first == name; });
    if (tokens != stage.tokens.end()) {
      values.push_back(a.slot(name, "bundle", type, tokens->second));
      continue;
    }
    BufferType whole = BufferType::get(type.getContext(), type.getElement(), a.l.sequence);
    Value positions = a.slot(name, "workspace", whole, 0);
    if (type != whole)
      positions = ViewOp::create(
          a.b, a.loc, type, positions,
          cast<CoordinateAttr>(a.l.groups.coordinate(a.l.groups.mesh.getStrategy("cp"), type.getCount())));
    values.push_back(positions);
  }
  return values;
}

static void call(ActionBuilder &a, const Stage &stage, const Run &run, Body &body, int64_t work, Value input,
                 ValueRange scratch, Value output) {
  bool reverse = &body == &run.kind->bwd;
  SmallVector<int64_t> places;
  for (const Name &name : body.parameters)
    places.push_back(a.l.placeIndex(name, stage.pp, run.first));
  SmallVector<Value> integers = integersOf(a, stage, body);
  CallOp::create(a.b, a.loc, body.func.getSymName(), run.first, run.count, reverse, run.bundle, run.kind->bundle, work,
                 places, integers, input, scratch, output);
}

static std::string describe(const Stage &stage, StringRef pass) {
  std::string text = stage.name() + ", " + pass.str() + ":";
  for (const Run &run : stage.runs)
    text += run.count > 1 ? " " + run.kind->name + " x " + std::to_string(run.count) : " " + run.kind->name;
  return text;
}

void buildForward(Lowering &l, OpBuilder &b, const Stage &stage, int64_t work) {
  ActionBuilder a(l, b, stage.name() + ".forward", describe(stage, "forward"), false, !stage.last);
  a.func.setBundleInWorkspace(stage.inWorkspace);
  Value output = a.func.getArgument("output");
  if (stage.runs.empty()) {
    Value input = a.slot("input", "bundle", a.boundary(), 0);
    LaunchOp::create(b, a.loc, "copy", "input", ValueRange(input), ValueRange(output),
                     b.getArrayAttr({b.getI64IntegerAttr(l.hidden)}));
  }
  for (const Run &run : stage.runs)
    call(a, stage, run, run.kind->fwd, work, {}, {}, &run == &stage.runs.back() ? output : Value());
}

void buildBackward(Lowering &l, OpBuilder &b, const Stage &stage, int64_t base) {
  ActionBuilder a(l, b, stage.name() + ".backward", describe(stage, "backward"), !stage.last, !stage.first);
  a.func.setBundleInWorkspace(stage.inWorkspace);
  Value cotangent = a.func.getArgument("input"), output = a.func.getArgument("output");
  int64_t size = ::lf::aligned(l.hidden * l.realBytes());
  if (stage.runs.empty())
    LaunchOp::create(b, a.loc, "copy", "cotangent", ValueRange(cotangent), ValueRange(output),
                     b.getArrayAttr({b.getI64IntegerAttr(l.hidden)}));
  // Cotangents alternate between two buffers, so that the last one lands in the output; messages serve where they can.
  int64_t steps = stage.steps(), used = 0;
  auto scratch = [&] {
    Value v = a.slot(used ? "cotangent_2" : "cotangent", "workspace", a.boundary(), base + used * size);
    ++used;
    return v;
  };
  Value last = output, other; // Written by the last step and each second one before it; by the others.
  bool inputIsFree = cotangent && (steps % 2 == 1 || !output);
  if (!last) {
    Value first = steps ? scratch() : Value(), second = inputIsFree ? cotangent : steps > 1 ? scratch() : Value();
    last = steps % 2 ? first : second;
    other = steps % 2 ? second : first;
  } else if (steps > 1) {
    other = inputIsFree ? cotangent : scratch();
  }
  auto written = [&](int64_t step) { return (steps - step) % 2 ? other : last; };
  int64_t step = 1;
  for (const Run &run : llvm::reverse(stage.runs)) {
    if (run.kind->isEmbed) {
      call(a, stage, run, run.kind->bwd, base + used * size, cotangent, {}, {});
      continue;
    }
    SmallVector<Value> between;
    if (run.count > 1)
      between = {written(step), written(step + 1)};
    step += run.count;
    Value to = written(step - 1);
    call(a, stage, run, run.kind->bwd, base + used * size, cotangent, between, to);
    cotangent = to;
  }
}

void buildWeight(Lowering &l, OpBuilder &b, const Stage &stage, int64_t base) {
  ActionBuilder a(l, b, stage.name() + ".weight", describe(stage, "gradients of weights"), false, false);
  for (const Run &run : llvm::reverse(stage.runs))
    if (run.kind->weight)
      call(a, stage, run, run.kind->wgt, base, {}, {}, {});
}

void buildTake(Lowering &l, OpBuilder &b, const std::string &name) {
  ActionBuilder a(l, b, name, "input from a stage of this rank", true, true);
  LaunchOp::create(b, a.loc, "copy", "input", ValueRange(a.func.getArgument("input")),
                   ValueRange(a.func.getArgument("output")), b.getArrayAttr({b.getI64IntegerAttr(l.hidden)}));
}

void buildLoad(Lowering &l, OpBuilder &b, const Stage &stage) {
  ActionBuilder a(l, b, stage.name() + ".load", stage.name() + ", batch", false, false);
  a.func.setBundleInWorkspace(stage.inWorkspace);
  BufferType type = BufferType::get(b.getContext(), b.getI32Type(),
                                    l.batch * l.sequence / l.groups.size(l.groups.mesh.getStrategy("cp")));
  std::map<int64_t, std::pair<Value, Value>> byShift; // ids and labels
  for (const auto &[name, at] : stage.tokens) {
    auto &[ids, labels] = byShift[shiftOf(name)];
    (StringRef(name).starts_with("ids") ? ids : labels) = a.slot(name, "bundle", type, at);
  }
  for (auto &[shift, tokens] : byShift)
    LoadBatchOp::create(b, a.loc, tokens.first, tokens.second, Value(),
                        shift ? b.getI64IntegerAttr(shift) : IntegerAttr());
}

void buildSend(Lowering &l, OpBuilder &b, const std::string &name, const std::string &what, int64_t pp, int64_t tag) {
  ActionBuilder a(l, b, name, "send " + what, true, false);
  SendOp::create(b, a.loc, what, a.func.getArgument("input"), pp, tag);
}

void buildReceive(Lowering &l, OpBuilder &b, const std::string &name, const std::string &what, int64_t pp,
                  int64_t tag) {
  ActionBuilder a(l, b, name, "receive " + what, false, true);
  RecvOp::create(b, a.loc, what, a.func.getArgument("output"), pp, tag);
}

void buildPost(Lowering &l, OpBuilder &b, const std::string &name, const std::string &what, int64_t pp, int64_t tag) {
  ActionBuilder a(l, b, name, "post the receive of " + what, false, true);
  PostRecvOp::create(b, a.loc, what, a.func.getArgument("output"), pp, tag);
}

void buildWait(Lowering &l, OpBuilder &b, const std::string &name, const std::string &what, int64_t pp, int64_t tag,
               bool copies) {
  ActionBuilder a(l, b, name, "wait for " + what, true, copies);
  Value input = a.func.getArgument("input");
  WaitRecvOp::create(b, a.loc, what, input, pp, tag);
  if (copies)
    LaunchOp::create(b, a.loc, "copy", what, ValueRange(input), ValueRange(a.func.getArgument("output")),
                     b.getArrayAttr({b.getI64IntegerAttr(l.hidden)}));
}

} // namespace mlir::lfrt
