//===- LfrtDialect.cpp - The lfrt dialect -----------------------*- C++ -*-===//
//
// Registration, look-ups and the table of kernels.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lfrt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::lfrt;

#include "lf/Dialect/LfrtDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "lf/Dialect/LfrtTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lf/Dialect/LfrtAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "lf/Dialect/LfrtOps.cpp.inc"

void LfrtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "lf/Dialect/LfrtTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lf/Dialect/LfrtAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lf/Dialect/LfrtOps.cpp.inc"
      >();
}

static constexpr Kernel kernels[] = {
    {"copy", 1, 1, "i", true},
    {"zero", 0, 1, "i", true},
    {"accumulate", 1, 1, "i", true},
    {"sum", -1, 1, "i", true},
    {"slice", 1, 1, "iiio", true},
    {"transpose", 1, 1, "iii", true},
    {"matmul", 2, 1, "iiinnn", true},
    {"bias_add", 2, 1, "ii"},
    {"bias_grad", 1, 1, "ii"},
    {"rms_norm", 2, 1, "iif"},
    {"rms_norm_grad", 3, 2, "iif"},
    {"layer_norm", 3, 1, "iif"},
    {"layer_norm_grad", 3, 3, "iif"},
    {"rope", 2, 1, "iiiivfn"},
    {"attention", 5, 2, "iiiiiifi"},
    {"attention_grad", 8, 3, "iiiiiifi"},
    {"activation", 1, 1, "ia"},
    {"activation_grad", 2, 1, "ia"},
    {"glu", 2, 1, "ia"},
    {"glu_grad", 3, 2, "ia"},
    {"embedding", 2, 1, "iiio"},
    {"embedding_grad", 2, 1, "iiion"},
    {"position_embedding", 3, 1, "iii"},
    {"position_embedding_grad", 2, 1, "iiii"},
    {"dropout", 2, 1, "iiifnoo"},
    {"row_max", 1, 1, "iioi"},
    {"sum_exp", 2, 1, "iioi"},
    {"pick", 2, 1, "iio"},
    {"nll", 4, 1, "i"},
    {"cross_entropy_grad", 5, 1, "iioi"},
    {"sum_all", 1, 1, "i"},
    {"count", 1, 1, "i"},
    {"broadcast", 1, 1, "i"},
    {"fill", 0, 1, "fi"},
    {"depth_weight", 1, 1, "nf"},
};

const Kernel *mlir::lfrt::findKernel(StringRef name) {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

static ModuleOp moduleOf(Operation *inside) {
  auto module = dyn_cast<ModuleOp>(inside);
  return module ? module : inside->getParentOfType<ModuleOp>();
}

MeshOp mlir::lfrt::findMesh(Operation *inside) {
  if (ModuleOp module = moduleOf(inside))
    for (MeshOp mesh : module.getOps<MeshOp>())
      return mesh;
  return {};
}

int64_t mlir::lfrt::sizeOf(MeshOp mesh, ArrayAttr axes) {
  int64_t size = 1;
  for (auto [axis, n] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    if (llvm::is_contained(axes, axis))
      size *= n;
  return size;
}

CommOp mlir::lfrt::findComm(Operation *inside, StringRef name) {
  if (ModuleOp module = moduleOf(inside))
    for (CommOp comm : module.getOps<CommOp>())
      if (comm.getName() == name)
        return comm;
  return {};
}

Value FuncOp::getArgument(StringRef name) {
  for (auto [i, attr] : llvm::enumerate(getNames()))
    if (cast<StringAttr>(attr).getValue() == name)
      return getBody().getArgument(i);
  return {};
}
