//===- PlanMemory.cpp - Offsets for the workspace of bodies ------*- C++ -*-===//
//
// Liveness by op order; a buffer that a collective reads or writes lives until the compute stream has waited for it.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/ArenaPlan.h"
#include "lf/Conversion/Conversion.h"
#include "mlir/IR/Builders.h"

namespace mlir::lfrt {
#define GEN_PASS_DEF_LFPLANMEMORY
#include "lf/Dialect/LfrtPasses.h.inc"
using ::lf::Lifetime;

/// The time at which `op` is known to be complete on the compute stream.
static int64_t completion(Operation *op, const llvm::DenseMap<Operation *, int64_t> &times) {
  auto comm = op->getAttrOfType<StringAttr>("comm");
  if (!comm)
    return times.lookup(op);
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (auto wait = dyn_cast<WaitOp>(next); wait && wait.getStream() == "compute")
      if (auto record = wait.getEvent().getDefiningOp<RecordOp>();
          record && record.getStream() == comm.getValue() && times.lookup(record) > times.lookup(op))
        return times.lookup(wait);
  return int64_t(op->getBlock()->getOperations().size()) - 1; // Never waited for: alive to the end.
}

/// Lifetime of a buffer: from the first op that touches it to the completion of the last, through views.
static Lifetime lifetimeOf(Value buffer, const llvm::DenseMap<Operation *, int64_t> &times) {
  Lifetime life{cast<BufferType>(buffer.getType()).getBytes(), std::numeric_limits<int64_t>::max(), -1, -1};
  SmallVector<Value> views = {buffer};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      life.first = std::min(life.first, times.lookup(user));
      life.last = std::max(life.last, completion(user, times));
      if (auto view = dyn_cast<ViewOp>(user))
        views.push_back(view.getResult());
    }
  return life;
}

static void setPlace(SlotOp slot, StringRef arena, int64_t offset) {
  OpBuilder b(slot);
  slot.setArenaAttr(b.getStringAttr(arena));
  slot.setOffsetAttr(b.getI64IntegerAttr(offset));
}

/// Moves slots that are dead before `output` is written into it, largest first, as long as there is room.
static void fillOutput(std::vector<SlotOp> &slots, std::vector<Lifetime> &lives, const Lifetime &outputLife) {
  int64_t capacity = ::lf::aligned(outputLife.bytes);
  std::vector<size_t> order(slots.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t x, size_t y) { return std::pair(-lives[x].bytes, x) < std::pair(-lives[y].bytes, y); });
  std::vector<Lifetime> inside;
  std::vector<size_t> members;
  for (size_t i : order) {
    if (lives[i].last >= outputLife.first || ::lf::aligned(lives[i].bytes) > capacity)
      continue;
    std::vector<Lifetime> attempt = inside;
    attempt.push_back(lives[i]);
    if (::lf::planArena(attempt) > capacity)
      continue;
    inside = std::move(attempt);
    members.push_back(i);
  }
  for (auto [i, life] : llvm::zip(members, inside))
    setPlace(slots[i], "output", life.offset);
  llvm::sort(members, std::greater<>());
  for (size_t i : members) {
    slots.erase(slots.begin() + i);
    lives.erase(lives.begin() + i);
  }
}

/// Places the workspace of one body; sets its `workspace` and `live`.
static void planBody(FuncOp func) {
  llvm::DenseMap<Operation *, int64_t> times;
  int64_t now = 0;
  for (Operation &op : func.getBody().front())
    times[&op] = now++;
  std::vector<SlotOp> slots;
  std::vector<Lifetime> lives;
  for (SlotOp slot : func.getBody().getOps<SlotOp>())
    if (slot.getArena() == "workspace" && !slot.getOffset()) {
      slots.push_back(slot);
      lives.push_back(lifetimeOf(slot.getResult(), times));
    }
  std::vector<Lifetime> counted = lives;
  Value input = func.getArgument("input"), output = func.getArgument("output");
  bool backward = func.getSymName().ends_with(".bwd");
  if (backward && input && !input.use_empty()) {
    Lifetime life = lifetimeOf(input, times);
    life.first = 0;
    counted.push_back(life);
  }
  if (output && !output.use_empty()) {
    Lifetime life = lifetimeOf(output, times);
    life.last = now - 1;
    if (backward)
      counted.push_back(life);
    fillOutput(slots, lives, life);
  }
  OpBuilder b(func);
  func.setWorkspaceAttr(b.getI64IntegerAttr(::lf::planArena(lives)));
  for (auto [slot, life] : llvm::zip(slots, lives))
    setPlace(slot, "workspace", life.offset);
  std::vector<int64_t> live = ::lf::liveBytes(counted, now);
  func.setLiveAttr(b.getI64IntegerAttr(live.empty() ? 0 : *llvm::max_element(live)));
}

namespace {
struct PlanMemory : impl::LfPlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder b(module);
    for (FuncOp func : module.getOps<FuncOp>())
      if (func.isBody()) {
        func.walk([](SlotOp slot) {
          if (slot.getResult().use_empty())
            slot.erase();
        });
        planBody(func);
      }
    for (MemoryOp memory : module.getOps<MemoryOp>())
      for (ProgramOp program : module.getOps<ProgramOp>())
        if (program.getPp() == memory.getPp())
          total(module, memory, program, b);
  }

  /// Bytes of the workspace arena of a rank, and the least that its worst line needs.
  void total(ModuleOp module, MemoryOp memory, ProgramOp program, OpBuilder &b) {
    SymbolTable symbols(module);
    int64_t workspace = memory.getBase(), live = 0;
    for (RunOp run : program.getBody().getOps<RunOp>()) {
      int64_t body = 0;
      auto action = symbols.lookup<FuncOp>(run.getCallee());
      if (!action)
        continue; // lf-emit-cpp refuses it.
      for (CallOp call : action.getBody().getOps<CallOp>()) {
        auto callee = symbols.lookup<FuncOp>(call.getCallee());
        workspace = std::max<int64_t>(workspace, call.getWork() + *callee.getWorkspace());
        if (action.getBundleInWorkspace())
          workspace = std::max<int64_t>(workspace, run.getBundle() + call.getBundle() + call.getCount() * call.getStride());
        body = std::max<int64_t>(body, *callee.getLive());
      }
      live = std::max<int64_t>(live, run.getLive() + body);
    }
    memory.setWorkspaceAttr(b.getI64IntegerAttr(workspace));
    memory.setPlannedAttr(b.getI64IntegerAttr(memory.getSaved() + workspace));
    memory.setLiveAttr(b.getI64IntegerAttr(live));
  }
};
} // namespace

} // namespace mlir::lfrt
