//===- LfDialect.cpp - The lf dialect ---------------------------*- C++ -*-===//
//
// Registration and the helpers that ops and passes share.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::lf;

#include "lf/Dialect/LfDialect.cpp.inc"
#include "lf/Dialect/LfInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "lf/Dialect/LfAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "lf/Dialect/LfOps.cpp.inc"

void LfDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lf/Dialect/LfAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lf/Dialect/LfOps.cpp.inc"
      >();
}

ArrayAttr mlir::lf::axesAttr(MLIRContext *context, const ::lf::Axes &axes) {
  SmallVector<Attribute> list;
  for (const std::string &axis : axes)
    list.push_back(StringAttr::get(context, axis));
  return ArrayAttr::get(context, list);
}

::lf::Axes mlir::lf::axesOf(ArrayAttr axes) {
  ::lf::Axes list;
  for (Attribute axis : axes)
    list.push_back(cast<StringAttr>(axis).getValue().str());
  return list;
}

StringRef mlir::lf::ownerOf(Operation *inside) {
  auto function = dyn_cast<func::FuncOp>(inside);
  if (!function)
    function = inside->getParentOfType<func::FuncOp>();
  return function ? function.getSymName().split('.').first : StringRef();
}

int64_t mlir::lf::bytesOfOperandsAndResults(Operation *op) {
  int64_t bytes = 0;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bytes += tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
  };
  llvm::for_each(op->getOperandTypes(), add);
  llvm::for_each(op->getResultTypes(), add);
  return bytes;
}

Operation *AdjointBuilder::emit(StringRef name, TypeRange types, ValueRange operands, ArrayRef<NamedAttribute> attributes) {
  OperationState state(primal->getLoc(), name);
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(attributes);
  if (Attribute id = primal->getAttr("id"))
    state.addAttribute("of", id);
  return builder.create(state);
}

::lf::Mesh MeshOp::getMesh() {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (auto [axis, size] : llvm::zip(getAxes(), getSizes()))
    axes.emplace_back(cast<StringAttr>(axis).getValue().str(), size);
  return ::lf::Mesh(std::move(axes));
}

::lf::Axes MeshOp::getStrategy(StringRef name) {
  auto list = dyn_cast_or_null<ArrayAttr>(getNames().get(name));
  return list ? axesOf(list) : ::lf::Axes();
}

static ModuleOp moduleOf(Operation *inside) {
  auto module = dyn_cast<ModuleOp>(inside);
  return module ? module : inside->getParentOfType<ModuleOp>();
}

MeshOp MeshOp::find(Operation *inside) {
  ModuleOp module = moduleOf(inside);
  if (module)
    for (MeshOp mesh : module.getOps<MeshOp>())
      return mesh;
  return {};
}

DeclareOp DeclareOp::find(Operation *inside, StringRef owner, StringRef name) {
  ModuleOp module = moduleOf(inside);
  if (module)
    for (DeclareOp declare : module.getOps<DeclareOp>())
      if (declare.getOwner() == owner && declare.getName() == name)
        return declare;
  return {};
}
