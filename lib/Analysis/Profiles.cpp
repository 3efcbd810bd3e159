//===- Profiles.cpp - Costs of single functions ------------------*- C++ -*-===//
//
// See Profiles.h.
//
//===----------------------------------------------------------------------===//
#include "Profiles.h"

using namespace mlir;
using namespace mlir::lf;

int64_t mlir::lf::bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8);
}

Cost mlir::lf::costOf(func::FuncOp function) {
  Cost cost;
  function.walk([&](CostInterface op) {
    cost.flops += op.getFlops();
    cost.bytes += op.getBytes();
  });
  return cost;
}

int64_t mlir::lf::localElements(DeclareOp declaration, MeshOp mesh) {
  auto type = cast<RankedTensorType>(declaration.getType());
  if (!declaration.getLayout())
    return type.getNumElements();
  return mesh.getMesh().localElements(type.getShape().vec(), declaration.getLayout()->getLayout());
}

::lf::LayerProfile mlir::lf::profileOf(ModuleOp module, MeshOp mesh, StringRef owner) {
  ::lf::LayerProfile profile;
  profile.owner = owner.str();
  for (DeclareOp declaration : module.getOps<DeclareOp>())
    if (declaration.getOwner() == owner)
      profile.parameters += localElements(declaration, mesh);
  if (auto forward = module.lookupSymbol<func::FuncOp>((owner + ".fwd").str())) {
    Cost cost = costOf(forward);
    profile.forwardFlops = cost.flops;
    profile.forwardBytes = cost.bytes;
    int64_t outputs = 0;
    if (auto attribute = forward->getAttrOfType<IntegerAttr>("lf.outputs"))
      outputs = attribute.getInt();
    for (Type type : forward.getResultTypes().drop_front(outputs))
      profile.savedBytes += bytesOf(type);
  }
  if (auto backward = module.lookupSymbol<func::FuncOp>((owner + ".bwd").str())) {
    Cost cost = costOf(backward);
    profile.backwardFlops = cost.flops;
    profile.backwardBytes = cost.bytes;
  }
  if (auto weight = module.lookupSymbol<func::FuncOp>((owner + ".wgrad").str())) {
    Cost cost = costOf(weight);
    profile.weightFlops = cost.flops;
    profile.backwardBytes += cost.bytes;
  }
  return profile;
}
