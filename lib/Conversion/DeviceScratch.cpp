//===- DeviceScratch.cpp - What a rank takes on a GPU beside its arenas -===//
//
// See DeviceScratch.h; the bytes themselves are stated in lf/scratch.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/DeviceScratch.h"
#include "lf/scratch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::lfrt;

static int64_t scratchOf(LaunchOp op, bool deterministic) {
  auto arg = [&](unsigned i) { return cast<IntegerAttr>(op.getArgs()[i]).getInt(); };
  bool rounded = cast<BufferType>(op.getInputs().empty() ? op.getOutputs().front().getType()
                                                         : op.getInputs().front().getType())
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

int64_t mlir::lfrt::deviceScratch(ModuleOp module) {
  bool deterministic = module->hasAttr("lf.deterministic");
  int64_t most = 0;
  for (ModelOp model : module.getOps<ModelOp>())
    most = ::lf::least_scratch(model.getSeqLength() * model.getMicroBatch());
  module.walk([&](LaunchOp op) { most = std::max(most, scratchOf(op, deterministic)); });
  return ::lf::product_workspace + most;
}
