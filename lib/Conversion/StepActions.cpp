//===- StepActions.cpp - Begin, synchronise, update --------------*- C++ -*-===//
//
// What a pipeline rank does once a step, by regions of its parameter arena.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

namespace mlir::lfrt {

static std::string suffix(int64_t pp) { return ".pp" + std::to_string(pp); }

void buildBeginStep(Lowering &l, OpBuilder &b, int64_t pp) {
  ActionBuilder a(l, b, "begin_step" + suffix(pp), "begin a step", false, false);
  BeginStepOp::create(b, a.loc);
  if (l.usesPositions)
    LoadBatchOp::create(
        b, a.loc, Value(), Value(),
        a.slot("positions", "workspace", BufferType::get(b.getContext(), b.getI32Type(), l.sequence), 0),
        IntegerAttr());
}

int64_t exchangeElements(Lowering &l, int64_t pp) {
  int64_t elements = 0;
  for (const Region &region : l.regions)
    if (region.pp == pp && !region.peers.empty() && !region.copy)
      elements = std::max(elements, region.count);
  return elements;
}

bool buildSyncGrads(Lowering &l, OpBuilder &b, int64_t pp) {
  if (llvm::none_of(l.regions, [&](const Region &r) { return r.pp == pp && (!r.partial.empty() || !r.peers.empty()); }))
    return false;
  ActionBuilder a(l, b, "sync_grads" + suffix(pp), "finish gradients", false, false);
  auto gradients = [&](const Region &region) {
    std::string name = region.tied.empty() ? "gradients" : region.tied + "_grad";
    return GradientsOp::create(b, a.loc, BufferType::get(b.getContext(), l.main, region.count), name, region.offset)
        .getResult();
  };
  for (const Region &region : l.regions) {
    if (region.pp != pp || region.partial.empty())
      continue;
    std::string comm = l.groups.comm(region.partial);
    Value x = gradients(region);
    Value ready = record(b, a.loc, "compute");
    WaitOp::create(b, a.loc, b.getStringAttr(comm), ready);
    AllReduceOp::create(b, a.loc, region.tied.empty() ? "gradients" : region.tied + "_grad", x, x, "sum", comm);
    Value done = record(b, a.loc, comm);
    WaitOp::create(b, a.loc, b.getStringAttr("compute"), done);
  }
  // A tied parameter: the rank with the original adds the gradients of all copies and sends the sum back. Every rank
  // takes tied parameters in the same order, so that none waits for another in a circle. Tags follow the stages'.
  std::vector<const Region *> tied;
  for (const Region &region : l.regions)
    if (region.pp == pp && !region.peers.empty())
      tied.push_back(&region);
  llvm::sort(tied, [](const Region *x, const Region *y) { return x->tiedIndex < y->tiedIndex; });
  for (const Region *region : tied) {
    Value x = gradients(*region);
    std::string what = region->tied + "_grad";
    int64_t tag = 2 * l.stages.size() + region->tiedIndex;
    if (region->copy) {
      SendOp::create(b, a.loc, what, x, region->peers.front(), tag);
      RecvOp::create(b, a.loc, what, x, region->peers.front(), tag);
      continue;
    }
    for (int64_t peer : region->peers) {
      Value other = a.slot(region->tied + "_copy_grad", "bundle", cast<BufferType>(x.getType()), 0);
      RecvOp::create(b, a.loc, what, other, peer, tag);
      LaunchOp::create(b, a.loc, "accumulate", what, ValueRange(other), ValueRange(x),
                       b.getArrayAttr({b.getI64IntegerAttr(region->count)}));
    }
    for (int64_t peer : region->peers)
      SendOp::create(b, a.loc, what, x, peer, tag);
  }
  return true;
}

void buildOptimizerStep(Lowering &l, OpBuilder &b, int64_t pp) {
  ActionBuilder a(l, b, "optimizer_step" + suffix(pp), "norm, clip, update", false, false);
  FinishGradientsOp::create(b, a.loc);
  for (const Region &region : l.regions)
    if (region.pp == pp)
      AdamWOp::create(b, a.loc, region.tied.empty() ? region.decay ? "weights" : "weights without decay" : region.tied,
                      region.offset, region.count, region.decay);
  EndStepOp::create(b, a.loc);
}

} // namespace mlir::lfrt
