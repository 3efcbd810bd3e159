//===- DeviceMemory.cpp - What a rank takes on a GPU beside its arenas -===//
//
// See DeviceMemory.h; the bytes themselves are stated in lf/scratch.h and lf/driver_memory.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/DeviceMemory.h"
#include "lf/driver_memory.h"
#include "lf/scratch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::lfrt;

static int64_t scratchOf(LaunchOp op, bool deterministic) {
  auto arg = [&](unsigned i) { return cast<IntegerAttr>(op.getArgs()[i]).getInt(); };
  bool rounded =
      cast<BufferType>(op.getInputs().empty() ? op.getOutputs().front().getType() : op.getInputs().front().getType())
          .getElement()
          .isBF16();
  if (op.getKernel() == "attention_grad")
    return rounded ? ::lf::attention_grad_scratch(arg(0), arg(1), arg(2), arg(3), arg(4), arg(5), deterministic)
                   : arg(0) * arg(2) * arg(3) * arg(4) * 4;
  if (op.getKernel() == "embedding_grad")
    return ::lf::table_grad_scratch(arg(0), arg(1), arg(2));
  if (op.getKernel() == "position_embedding_grad")
    return ::lf::table_grad_scratch(arg(0), arg(3), arg(2));
  return 0;
}

static int64_t scratchOf(ModuleOp module) {
  bool deterministic = module->hasAttr("lf.deterministic");
  int64_t most = 0;
  for (ModelOp model : module.getOps<ModelOp>())
    most = ::lf::least_scratch(model.getSeqLength() * model.getMicroBatch());
  module.walk([&](LaunchOp op) { most = std::max(most, scratchOf(op, deterministic)); });
  return ::lf::product_workspace + most;
}

/// Of the messages that a pipeline rank sends.
static int64_t messagePlaces(ModuleOp module, int64_t pp) {
  int64_t bytes = 0;
  for (MessageOp message : module.getOps<MessageOp>())
    if (int64_t(message.getFrom()) == pp) {
      auto type = cast<BufferType>(message.getType());
      bytes += ::lf::message_places * type.getCount() * type.getElement().getIntOrFloatBitWidth() / 8;
    }
  return bytes;
}

/// With a GPU for each rank.
static int64_t driverMemory(ModuleOp module, int64_t pp) {
  MeshOp mesh = findMesh(module);
  auto ranksOver = [&](ArrayAttr axes) {
    int64_t ranks = 1;
    for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
      if (llvm::is_contained(axes, axis))
        ranks *= size;
    return ranks;
  };
  const int64_t world = ranksOver(mesh.getAxes());
  if (world == 1)
    return ::lf::context_memory;
  int64_t groups = 0, channels = 0;
  for (CommOp comm : module.getOps<CommOp>())
    groups += comm.getName() != "world" && ranksOver(comm.getAxes()) > 1;
  for (MessageOp message : module.getOps<MessageOp>())
    channels += int64_t(message.getFrom()) == pp || int64_t(message.getTo()) == pp;
  return ::lf::context_memory + ::lf::nccl_memory(groups, channels);
}

void mlir::lfrt::planDeviceMemory(ModuleOp module) {
  const int64_t scratch = scratchOf(module);
  for (MemoryOp memory : module.getOps<MemoryOp>()) {
    memory.setStaging(scratch + messagePlaces(module, memory.getPp()));
    memory.setDriver(driverMemory(module, memory.getPp()));
  }
}
