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

void mlir::lf::addTraffic(std::vector<::lf::Traffic> &into, const std::vector<::lf::Traffic> &list, int64_t times) {
  for (::lf::Traffic entry : list) {
    entry.messages *= times;
    entry.bytes *= times;
    ::lf::addTraffic(into, entry);
  }
}

std::string mlir::lf::groupName(MeshOp mesh, const ::lf::Axes &axes) {
  ::lf::Mesh sizes = mesh.getMesh();
  std::vector<std::string> left, all;
  for (const auto &[axis, size] : sizes.axes())
    if (size > 1) {
      all.push_back(axis);
      if (llvm::is_contained(axes, axis))
        left.push_back(axis);
    }
  if (left.empty())
    return "";
  if (left == all && mesh.getStrategy("pp").size() && llvm::is_contained(left, mesh.getStrategy("pp").front()))
    return "world";
  std::string name;
  for (StringRef strategy : {"pp", "dp", "cp", "tp"}) {
    std::vector<std::string> atoms, present;
    for (const std::string &axis : mesh.getStrategy(strategy))
      if (sizes.size(axis) > 1) {
        atoms.push_back(axis);
        if (llvm::is_contained(left, axis))
          present.push_back(axis);
      }
    if (!present.empty() && present == atoms)
      present = {strategy.str()};
    for (const std::string &part : present)
      name += (name.empty() ? "" : "+") + part;
  }
  return name;
}

Cost mlir::lf::costOf(func::FuncOp function) {
  Cost cost;
  function.walk([&](CostInterface op) {
    cost.flops += op.getFlops();
    cost.bytes += op.getBytes();
  });
  return cost;
}

std::vector<::lf::Traffic> mlir::lf::trafficOf(func::FuncOp function, MeshOp mesh) {
  std::vector<::lf::Traffic> traffic;
  ::lf::Mesh sizes = mesh.getMesh();
  function.walk([&](CollectiveInterface op) {
    int64_t n = sizes.size(op.getGroupAxes());
    int64_t elements = op.getSentElements(n);
    if (n == 1 || elements == 0)
      return;
    int64_t width = cast<RankedTensorType>(op->getResult(0).getType()).getElementTypeBitWidth() / 8;
    ::lf::addTraffic(traffic, {groupName(mesh, op.getGroupAxes()), op.getCollectiveKind().str(), 1, elements * width});
  });
  return traffic;
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
    profile.forward = trafficOf(forward, mesh);
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
    profile.backward = trafficOf(backward, mesh);
  }
  if (auto weight = module.lookupSymbol<func::FuncOp>((owner + ".wgrad").str())) {
    Cost cost = costOf(weight);
    profile.weightFlops = cost.flops;
    profile.backwardBytes += cost.bytes;
    profile.weight = trafficOf(weight, mesh);
  }
  return profile;
}
