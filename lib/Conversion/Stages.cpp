//===- Stages.cpp - Stages, runs of layers and their bundles -----*- C++ -*-===//
//
// A stage's bundle: its ids and labels, then the bundle of each layer in order, so that a layer's output lies where the
// next layer's bundle begins.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

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
    if (op.getEmbed())
      stage.runs.push_back({&embed, -1, 1});
    int64_t layer = op.getFirst();
    for (auto [symbol, count] : llvm::zip(op.getLayers(), op.getCounts())) {
      stage.runs.push_back({&addKind(l, cast<FlatSymbolRefAttr>(symbol).getValue()), layer, count});
      layer += count;
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

/// Gives what crosses to the weight pass its place, and all that is saved a new one: what the weight pass does not read
/// is dead when the backward has read it last.
static void layOutCrossing(Lowering &l, Kind &kind) {
  int64_t base = kind.isEmbed ? 0 : ::lf::aligned(l.hidden * l.realBytes());
  llvm::DenseMap<Value, Value> aliases = aliasesOf(l.groups, kind.backward);
  llvm::DenseMap<Value, std::pair<int64_t, int64_t>> spans; // of roots: first and last op of the backward
  int64_t now = 0;
  for (Operation &op : kind.backward.front()) {
    for (Value v : op.getOperands())
      spans[rootOf(aliases, v)].second = now;
    for (Value v : op.getResults())
      if (!aliases.count(v))
        spans[v] = {now, now};
    ++now;
  }
  llvm::SmallDenseSet<int64_t> later; // numbers of saved values
  for (unsigned i = 0; i < kind.weight.getNumArguments(); ++i)
    if (auto number = kind.weight.getArgAttrOfType<IntegerAttr>(i, "lf.saved"))
      later.insert(number.getInt());

  std::vector<::lf::Lifetime> lives;
  std::map<int64_t, size_t> known; // offset of a saved value -> its life
  unsigned firstSaved = kind.backward.getNumArguments() - kind.saved.size();
  for (auto [number, saved] : llvm::enumerate(kind.saved)) {
    BlockArgument argument = kind.backward.getArgument(firstSaved + number);
    if (saved.from != SavedValue::inBundle || (saved.offset == 0 && base > 0))
      continue;
    auto [it, fresh] = known.try_emplace(saved.offset, lives.size());
    if (fresh)
      lives.push_back({bufferFor(argument.getType()).getBytes(), 0, 0, -1});
    ::lf::Lifetime &life = lives[it->second];
    life.last = later.contains(int64_t(number)) ? now : std::max<int64_t>(life.last, spans.lookup(argument).second);
  }
  OperandRange values = kind.backward.front().getTerminator()->getOperands().take_back(
      kind.backward->getAttrOfType<IntegerAttr>("lf.crossing").getInt());
  llvm::DenseMap<Value, size_t> made; // root -> life
  for (Value v : values) {
    Value root = rootOf(aliases, v);
    auto argument = dyn_cast<BlockArgument>(root);
    if (argument && argument.getArgNumber() >= firstSaved)
      continue; // In the place of a saved value.
    auto [it, fresh] = made.try_emplace(root, lives.size());
    if (fresh)
      lives.push_back({bufferFor(root.getType()).getBytes(), argument ? 0 : spans.lookup(root).first, now, -1});
  }
  kind.bundle = base + ::lf::planArena(lives);
  for (SavedValue &saved : kind.saved)
    if (auto it = known.find(saved.offset);
        saved.from == SavedValue::inBundle && it != known.end() && !(saved.offset == 0 && base > 0))
      saved.offset = base + lives[it->second].offset;
  for (Value v : values) {
    Value root = rootOf(aliases, v);
    SavedValue place;
    if (auto it = made.find(root); it != made.end())
      place.offset = base + lives[it->second].offset;
    else
      place = kind.saved[cast<BlockArgument>(root).getArgNumber() - firstSaved];
    kind.crossing.push_back(place);
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
