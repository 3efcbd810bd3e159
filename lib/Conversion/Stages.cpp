//===- Stages.cpp - Stages, runs of layers and their bundles -----*- C++ -*-===//
//
// A stage's bundle: its ids and labels, then the bundle of each layer in order, so that a layer's output lies where the
// next layer's bundle begins.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::lfrt {

int64_t shiftOf(StringRef input) {
  int64_t shift = 0;
  if (!input.consume_front("ids") && !input.consume_front("labels"))
    return -1;
  if (input.empty())
    return 0;
  return input.consume_front("_") && !input.getAsInteger(10, shift) && shift > 0 ? shift : -1;
}

static Kind &addKind(Lowering &l, StringRef name) {
  auto [it, fresh] = l.kinds.try_emplace(name.str());
  Kind &kind = it->second;
  if (fresh) {
    kind.name = name.str();
    kind.forward = l.module.lookupSymbol<func::FuncOp>((name + ".fwd").str());
    kind.backward = l.module.lookupSymbol<func::FuncOp>((name + ".bwd").str());
    kind.weight = l.module.lookupSymbol<func::FuncOp>((name + ".wgrad").str());
  }
  return kind;
}

void collectStages(Lowering &l) {
  lf::ChainOp chain = *l.module.getOps<lf::ChainOp>().begin();
  Kind &embed = addKind(l, chain.getEmbed()), &head = addKind(l, chain.getHead());
  embed.isEmbed = head.isHead = true;
  if (chain.getMtp())
    addKind(l, *chain.getMtp()).isMtp = true;
  for (lf::StageOp op : l.module.getOps<lf::StageOp>()) {
    Stage stage{op, int64_t(l.stages.size()), int64_t(op.getPp()), {}};
    stage.first = op.getEmbed();
    stage.last = op.getHead();
    if (op.getEmbed())
      stage.runs.push_back({&embed, -1, 1});
    int64_t layer = op.getFirst();
    for (auto [symbol, count] : llvm::zip(op.getLayers(), op.getCounts())) {
      stage.runs.push_back({&addKind(l, cast<FlatSymbolRefAttr>(symbol).getValue()), layer, count});
      layer += count;
    }
    // What has no weight pass is done before the layers' weight passes are, and ends its life by itself.
    if (op.getHead() && layer > int64_t(op.getFirst()) && stage.runs.back().kind->weight) {
      stage.last = false;
      l.stages.push_back(stage);
      stage = {op, int64_t(l.stages.size()), int64_t(op.getPp()), {}};
      stage.last = stage.isTail = true;
    }
    if (ArrayAttr tail = op.getTailAttr())
      for (Attribute symbol : tail)
        stage.runs.push_back({&addKind(l, cast<FlatSymbolRefAttr>(symbol).getValue()), -1, 1});
    if (op.getHead())
      stage.runs.push_back({&head, -1, 1});
    l.stages.push_back(std::move(stage));
    l.numRanks = std::max<int64_t>(l.numRanks, op.getPp() + 1);
  }
  RankedTensorType x = tensorOf(embed.forward.front().getTerminator()->getOperand(0));
  l.real = x.getElementType();
  l.main = lf::mainTypeOf(l.real);
  l.hidden = x.getNumElements();
  l.batch = x.getRank() > 1 ? x.getDimSize(1) : 1;
  for (BlockArgument argument : embed.forward.getArguments())
    if (auto input = embed.forward.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "lf.input");
        input && input.getValue() == "ids") {
      l.sequence = tensorOf(argument).getDimSize(0) * l.groups.size(l.groups.mesh.getStrategy("cp"));
      l.batch = tensorOf(argument).getDimSize(1);
    }
}

namespace {
/// A saved value that nothing reads once the backward is past op number `last`.
struct Dead {
  int64_t offset, bytes, last;
  Value root;
};
} // namespace

/// Whether `op` may write its result `number` over its operand of the same number: element by element.
static bool writesOver(Operation *op, int64_t number) {
  return isa<lf::GluGradOp>(op) || (isa<lf::ActivationGradOp>(op) && number == 0);
}

/// Gives what crosses to the weight pass its place: that of a saved value of its size which is dead by then. Where the
/// place is still read when the value is made, the value is copied there afterwards.
static void layOutCrossing(Lowering &l, Kind &kind) {
  llvm::DenseMap<Value, Value> aliases = aliasesOf(l.groups, kind.backward);
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> spans; // of roots: first and last op of the backward
  int64_t now = 0;
  for (Operation &op : kind.backward.front()) {
    for (Value v : op.getOperands())
      spans.try_emplace(rootOf(aliases, v), -1, -1).first->second.second = now;
    for (Value v : op.getResults())
      if (!aliases.count(v))
        spans[v] = {now, now};
    ++now;
  }
  llvm::SmallDenseSet<int64_t> later; // numbers of saved values
  for (unsigned i = 0; i < kind.weight.getNumArguments(); ++i)
    if (auto number = kind.weight.getArgAttrOfType<IntegerAttr>(i, "lf.saved"))
      later.insert(number.getInt());
  OperandRange values = kind.backward.front().getTerminator()->getOperands().take_back(
      kind.backward->getAttrOfType<IntegerAttr>("lf.crossing").getInt());
  int64_t firstSaved = kind.backward.getNumArguments() - kind.saved.size();
  auto savedNumber = [&](Value root) {
    auto argument = dyn_cast<BlockArgument>(root);
    return argument ? std::max<int64_t>(int64_t(argument.getArgNumber()) - firstSaved, -1) : -1;
  };
  for (Value v : values)
    if (int64_t number = savedNumber(rootOf(aliases, v)); number >= 0)
      later.insert(number); // Written over a saved value, or the same value.

  std::map<int64_t, Dead> byOffset;
  llvm::SmallDenseSet<int64_t> alive; // offsets
  for (auto [number, saved] : llvm::enumerate(kind.saved)) {
    BlockArgument argument = kind.backward.getArgument(firstSaved + number);
    if (saved.from != SavedValue::inBundle)
      continue;
    auto span = spans.find(argument);
    Dead dead{saved.offset, ::lf::aligned(bufferFor(argument.getType()).getBytes()),
              span == spans.end() ? -1 : span->second.second, argument};
    auto [it, fresh] = byOffset.try_emplace(saved.offset, dead);
    if (it->second.last < dead.last)
      it->second = dead;
    if (later.contains(int64_t(number)))
      alive.insert(saved.offset);
  }
  std::vector<Dead> places;
  for (const auto &[offset, dead] : byOffset)
    if (!alive.contains(offset) && dead.last < now - 1)
      places.push_back(dead);

  // The value that is made last takes the place that falls free last: fewest are copied.
  llvm::SetVector<Value> roots;
  for (Value v : values)
    if (Value root = rootOf(aliases, v); savedNumber(root) < 0)
      roots.insert(root);
  auto madeAt = [&](Value root) { return isa<BlockArgument>(root) ? -1 : spans.lookup(root).first; };
  SmallVector<std::pair<int64_t, size_t>> order;
  for (auto [number, root] : llvm::enumerate(roots))
    order.emplace_back(-madeAt(root), number);
  llvm::sort(order);
  llvm::DenseMap<Value, Crossing> placed;
  for (auto [when, number] : order) {
    Value root = roots[number];
    int64_t bytes = ::lf::aligned(bufferFor(root.getType()).getBytes()), made = -when;
    auto result = dyn_cast<OpResult>(root);
    auto direct = [&](const Dead &dead) {
      return result && (dead.last < made || (dead.last == made && writesOver(result.getOwner(), result.getResultNumber()) &&
                                             rootOf(aliases, result.getOwner()->getOperand(result.getResultNumber())) ==
                                                 dead.root));
    };
    // The smallest that is large enough, best one that is free already, of those the last.
    auto better = [&](const Dead &x, const Dead &y) {
      return std::tuple(-x.bytes, direct(x), x.last) > std::tuple(-y.bytes, direct(y), y.last);
    };
    auto best = places.end();
    for (auto it = places.begin(); it != places.end(); ++it)
      if (it->bytes >= bytes && (best == places.end() || better(*it, *best)))
        best = it;
    Crossing crossing;
    if (best == places.end()) {
      crossing.place.offset = kind.bundle;
      kind.bundle += bytes;
      if (!result)
        crossing.copyAfter = -1;
    } else {
      crossing.place.offset = best->offset;
      if (!direct(*best))
        crossing.copyAfter = std::max(best->last, made);
      places.erase(best);
    }
    placed[root] = crossing;
  }
  for (Value v : values) {
    Value root = rootOf(aliases, v);
    if (int64_t number = savedNumber(root); number >= 0)
      kind.crossing.push_back({kind.saved[number], {}});
    else
      kind.crossing.push_back(placed.lookup(root));
  }
}

/// Gives each saved value of a kind its place.
static void layOutKind(Lowering &l, Kind &kind) {
  int64_t at = kind.isEmbed ? 0 : ::lf::aligned(l.hidden * l.realBytes());
  int64_t outputs = kind.forward->getAttrOfType<IntegerAttr>("lf.outputs").getInt();
  llvm::DenseMap<Value, int64_t> offsets;
  for (Value v : kind.forward.front().getTerminator()->getOperands().drop_front(outputs)) {
    SavedValue saved;
    Value root = throughIdentities(l.groups, v);
    if (BlockArgument source = integerSource(l.groups, root, saved.slices)) {
      saved.from = SavedValue::integer;
      saved.input = kind.forward.getArgAttrOfType<StringAttr>(source.getArgNumber(), "lf.input").str();
    } else if (auto param = root.getDefiningOp<lf::ParamOp>()) {
      saved.from = SavedValue::parameter;
      saved.name = {param.getOwner().value_or(kind.name).str(), param.getName().str()};
    } else {
      saved.slices.clear();
      if (isa<BlockArgument>(root)) {
        saved.offset = 0; // The input begins the bundle.
      } else {
        auto [it, fresh] = offsets.try_emplace(root, at);
        saved.offset = it->second;
        if (fresh)
          at += ::lf::aligned(bufferFor(root.getType()).getBytes());
      }
    }
    kind.saved.push_back(std::move(saved));
  }
  kind.names[0] = std::string(1, 'x');
  kind.bundle = at;
  if (kind.weight)
    layOutCrossing(l, kind);
}

void layOutBundles(Lowering &l) {
  for (auto &[name, kind] : l.kinds)
    layOutKind(l, kind);
  int64_t tokens = l.batch * l.sequence / l.groups.size(l.groups.mesh.getStrategy("cp"));
  for (Stage &stage : l.stages) {
    int64_t at = 0;
    for (const Run &run : stage.runs)
      for (unsigned i = 0; i < run.kind->forward.getNumArguments(); ++i)
        if (auto input = run.kind->forward.getArgAttrOfType<StringAttr>(i, "lf.input"); input && shiftOf(input) >= 0) {
          std::string name = input.str();
          if (llvm::none_of(stage.tokens, [&](const auto &known) { return known.first == name; })) {
            stage.tokens.emplace_back(name, at);
            at += ::lf::aligned(tokens * 4);
          }
        }
    stage.input = at;
    for (Run &run : stage.runs) {
      run.bundle = at;
      at += run.kind->bundle * run.count;
    }
    // A stage without layers hands its input on; a message needs a place nevertheless.
    stage.bundle = stage.runs.empty() ? ::lf::aligned(l.hidden * l.realBytes()) : at;
  }
}

} // namespace mlir::lfrt
