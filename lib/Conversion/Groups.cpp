//===- Groups.cpp - Axes and communicators -----------------------*- C++ -*-===//
//
// Trimmed axis sets, their names, and coordinates as attributes.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::lfrt {

::lf::Axes Groups::trim(const ::lf::Axes &axes) const {
  ::lf::Axes list;
  lf::MeshOp op = mesh;
  for (auto [axis, size] : llvm::zip(op.getAxes(), op.getSizes()))
    if (size > 1 && llvm::is_contained(axes, cast<StringAttr>(axis).getValue()))
      list.push_back(cast<StringAttr>(axis).getValue().str());
  return list;
}

int64_t Groups::size(const ::lf::Axes &axes) const {
  int64_t n = 1;
  lf::MeshOp op = mesh;
  for (auto [axis, size] : llvm::zip(op.getAxes(), op.getSizes()))
    if (llvm::is_contained(axes, cast<StringAttr>(axis).getValue()))
      n *= size;
  return n;
}

std::string Groups::comm(const ::lf::Axes &axes) {
  for (const auto &[name, known] : comms)
    if (known == axes)
      return name;
  // A strategy's own name where the set is made of whole strategies: "tp", "dp+cp"; else the atomic axes.
  std::string name;
  auto add = [&](StringRef part) {
    if (!name.empty())
      name += '+';
    name += part;
  };
  ::lf::Axes rest = axes;
  lf::MeshOp op = mesh;
  for (StringRef strategy : {"pp", "dp", "cp", "tp"}) {
    ::lf::Axes parts = trim(op.getStrategy(strategy));
    if (parts.empty() || !llvm::all_of(parts, [&](const std::string &axis) { return llvm::is_contained(rest, axis); }))
      continue;
    add(strategy);
    std::erase_if(rest, [&](const std::string &axis) { return llvm::is_contained(parts, axis); });
  }
  for (const std::string &axis : rest)
    add(axis);
  comms.emplace_back(name, axes);
  return name;
}

Attribute Groups::coordinate(const ::lf::Axes &axes, int64_t scale) const {
  lf::MeshOp op = mesh;
  MLIRContext *context = op->getContext();
  ::lf::Axes list = trim(axes);
  if (list.empty())
    return IntegerAttr::get(IntegerType::get(context, 64), 0);
  return CoordinateAttr::get(context, lf::axesAttr(context, list), scale);
}

bool isIdentity(const Groups &groups, Operation *op) {
  auto collective = dyn_cast_or_null<lf::CollectiveInterface>(op);
  return collective && groups.size(collective.getGroupAxes()) == 1;
}

Value throughIdentities(const Groups &groups, Value v) {
  while (isIdentity(groups, v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  return v;
}

BlockArgument integerSource(const Groups &groups, Value v, std::vector<lf::SliceOp> &slices) {
  v = throughIdentities(groups, v);
  while (auto slice = v.getDefiningOp<lf::SliceOp>()) {
    slices.insert(slices.begin(), slice);
    v = throughIdentities(groups, slice.getX());
  }
  auto argument = dyn_cast<BlockArgument>(v);
  return argument && tensorOf(argument).getElementType().isInteger(32) ? argument : BlockArgument();
}

} // namespace mlir::lfrt
