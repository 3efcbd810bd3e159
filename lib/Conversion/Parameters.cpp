//===- Parameters.cpp - The arena of parameters ------------------*- C++ -*-===//
//
// Regions of parameters that share everything the end of a step does with them; the gradients and both moments have
// the same offsets.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::lfrt {

lf::DeclareOp Lowering::declaration(const Name &name) const { return parameters[parameterIndex(name)]; }

int64_t Lowering::parameterIndex(const Name &name) const {
  for (auto [i, op] : llvm::enumerate(parameters))
    if (lf::DeclareOp declare = op; declare.getOwner() == name.first && declare.getName() == name.second)
      return i;
  llvm_unreachable("lf-verify-lowerable checks that parameters are declared");
}

int64_t Lowering::placeIndex(const Name &name, int64_t pp, int64_t first) const {
  for (auto [i, place] : llvm::enumerate(places))
    if (place.name == name && place.pp == pp && (place.first == first || place.first < 0))
      return i;
  llvm_unreachable("placeParameters places what a stage uses");
}

int64_t localElements(Lowering &l, lf::DeclareOp declare) {
  int64_t n = cast<RankedTensorType>(declare.getType()).getNumElements();
  if (auto layout = declare.getLayout())
    for (Attribute dim : layout->getDims())
      n /= l.groups.size(lf::axesOf(cast<ArrayAttr>(dim)));
  return n;
}

std::vector<Name> parametersOf(func::FuncOp function) {
  llvm::SetVector<std::pair<StringRef, StringRef>> seen;
  StringRef own = lf::ownerOf(function);
  for (Operation &op : function.front())
    if (auto param = dyn_cast<lf::ParamOp>(op))
      seen.insert({param.getOwner().value_or(own), param.getName()});
    else if (auto accumulate = dyn_cast<lf::AccumulateOp>(op))
      seen.insert({accumulate.getOwner().value_or(own), accumulate.getName()});
  std::vector<Name> names;
  for (auto [owner, name] : seen)
    names.emplace_back(owner.str(), name.str());
  return names;
}

namespace {
/// Parameters of one kind (or copies of some) that follow one another on one pipeline rank.
struct Held {
  int64_t first, count;
  bool copy;
  std::vector<int64_t> parameters;
};
} // namespace

/// All axes that split some dim, or over which the gradient is partial; trimmed.
static ::lf::Axes axesOfDims(Lowering &l, std::optional<lf::LayoutAttr> layout) {
  ::lf::Axes axes;
  if (layout)
    for (Attribute dim : layout->getDims())
      llvm::append_range(axes, lf::axesOf(cast<ArrayAttr>(dim)));
  return l.groups.trim(axes);
}
static ::lf::Axes partialOf(Lowering &l, lf::DeclareOp declare) {
  return declare.getGradient() ? l.groups.trim(lf::axesOf(declare.getGradient()->getPartial())) : ::lf::Axes();
}

void placeParameters(Lowering &l) {
  llvm::append_range(l.parameters, l.module.getOps<lf::DeclareOp>());
  // Rounded up so that every shard begins at a cache line, whatever the type.
  auto padded = [&](int64_t parameter) { return (localElements(l, l.parameters[parameter]) + 15) / 16 * 16; };

  // Which blocks each pipeline rank holds, and the ranks of each parameter: that of the original first.
  std::vector<std::vector<Held>> blocks(l.numRanks);
  std::map<int64_t, std::vector<int64_t>> owners;
  for (Stage &stage : l.stages)
    for (Run &run : stage.runs) {
      Held block{run.first, run.count, false, {}};
      for (auto [i, op] : llvm::enumerate(l.parameters))
        if (lf::DeclareOp(op).getOwner() == run.kind->name)
          block.parameters.push_back(i);
      if (!block.parameters.empty())
        blocks[stage.pp].push_back(block);
      for (int64_t i : block.parameters)
        owners[i].push_back(stage.pp);
    }
  for (Stage &stage : l.stages)
    for (Run &run : stage.runs)
      for (func::FuncOp function : run.kind->functions())
        for (const Name &name : parametersOf(function)) {
          int64_t i = l.parameterIndex(name);
          if (llvm::is_contained(owners[i], stage.pp))
            continue;
          owners[i].push_back(stage.pp);
          blocks[stage.pp].push_back({-1, 1, true, {i}});
        }

  for (int64_t pp = 0; pp < l.numRanks; ++pp) {
    struct Key {
      int64_t tied; // parameter that has a copy, or -1
      bool copy;
      ::lf::Axes partial, owned;
      bool decay;
      bool operator==(const Key &) const = default;
    };
    std::vector<Key> keys;
    auto keyOf = [&](const Held &block, int64_t i) {
      lf::DeclareOp declare = l.parameters[i];
      llvm::SmallSetVector<int64_t, 2> ranks(owners[i].begin(), owners[i].end());
      bool tied = block.first < 0 && ranks.size() > 1;
      return Key{tied ? i : -1, block.copy, partialOf(l, declare), axesOfDims(l, declare.getLayout()),
                 declare.getDecay()};
    };
    for (const Held &block : blocks[pp])
      for (int64_t i : block.parameters)
        if (Key key = keyOf(block, i); !llvm::is_contained(keys, key))
          keys.push_back(key);
    int64_t at = 0;
    for (const Key &key : keys) {
      Region region{pp, at, 0, key.partial, key.owned, key.decay, key.copy, "", key.tied, {}};
      if (key.tied >= 0) {
        region.tied = l.parameters[key.tied].getName().str();
        const std::vector<int64_t> &ranks = owners[key.tied];
        if (key.copy)
          region.peers = {ranks.front()};
        else
          for (int64_t rank : ranks)
            if (rank != pp && !llvm::is_contained(region.peers, rank))
              region.peers.push_back(rank);
      }
      for (const Held &block : blocks[pp]) {
        std::vector<int64_t> here;
        int64_t stride = 0;
        for (int64_t i : block.parameters)
          if (keyOf(block, i) == key) {
            here.push_back(i);
            stride += padded(i);
          }
        int64_t offset = at;
        for (int64_t i : here) {
          lf::DeclareOp declare = l.parameters[i];
          l.places.push_back({{declare.getOwner().str(), declare.getName().str()},
                              pp,
                              block.first,
                              block.count,
                              offset,
                              stride,
                              block.copy});
          offset += padded(i);
        }
        at += stride * block.count;
      }
      region.count = at - region.offset;
      l.regions.push_back(region);
    }
    l.elements.push_back(at);
  }
}

} // namespace mlir::lfrt
