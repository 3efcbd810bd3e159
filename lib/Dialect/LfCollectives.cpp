//===- LfCollectives.cpp - Verification and groups of collectives -*- C++ -*-===//
//
// C1 to C3 of dialects/lf/LfCollectiveOps.td.
//
//===----------------------------------------------------------------------===//
#include "lf/Dialect/Lf.h"

using namespace mlir;
using namespace mlir::lf;

/// Checks C1 and C2 and yields the size of the group; -1 where the module has no mesh.
static FailureOr<int64_t> groupSize(Operation *op, ArrayAttr axes) {
  auto in = cast<RankedTensorType>(op->getOperand(0).getType()), out = cast<RankedTensorType>(op->getResult(0).getType());
  if (in.getRank() != out.getRank() || in.getElementType() != out.getElementType())
    return op->emitOpError() << "(C2) expected operand and result of one rank and element type, got " << in << " and " << out;
  if (!in.hasStaticShape() || !out.hasStaticShape())
    return op->emitOpError() << "(C2) expected static shapes, got " << in << " and " << out;
  if (axes.empty())
    return op->emitOpError() << "(C1) expected at least one axis, got none";
  MeshOp mesh = MeshOp::find(op);
  if (!mesh)
    return op->emitOpError() << "(C1) expected an lf.mesh in the module, got none";
  int64_t n = 1;
  ptrdiff_t last = -1;
  for (Attribute axis : axes) {
    ptrdiff_t at = llvm::find(mesh.getAxes(), axis) - mesh.getAxes().begin();
    if (at == ptrdiff_t(mesh.getAxes().size()) || at <= last) {
      InFlightDiagnostic diag = op->emitOpError() << "(C1) expected axes of the mesh, once and in its order, got " << axis;
      diag.attachNote(mesh.getLoc()) << "the mesh";
      return diag;
    }
    n *= mesh.getSizes()[at];
    last = at;
  }
  return n;
}

/// (C3): result dims are those of the operand, dim `grows` times n, dim `shrinks` divided by n (-1: none).
static LogicalResult verifyShapes(Operation *op, int64_t n, int64_t grows, int64_t shrinks) {
  auto in = cast<RankedTensorType>(op->getOperand(0).getType()), out = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t dim : {grows, shrinks})
    if (dim < -1 || dim >= in.getRank())
      return op->emitOpError() << "(C3) expected a dim between 0 and " << in.getRank() - 1 << ", got " << dim;
  for (int64_t dim = 0; dim < in.getRank(); ++dim) {
    int64_t from = in.getDimSize(dim), to = out.getDimSize(dim);
    if (dim == grows ? to != from * n : dim == shrinks ? from != to * n : from != to) {
      InFlightDiagnostic diag = op->emitOpError() << "(C3) expected result dim " << dim << " to be ";
      if (dim == grows)
        diag << from * n << " (" << from << " x group of " << n << ")";
      else if (dim == shrinks)
        diag << "1/" << n << " of " << from;
      else
        diag << from;
      return diag << ", got " << to;
    }
  }
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim) {
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  if (dim < 0 || dim >= rank)
    return op->emitOpError() << "(C3) expected a dim between 0 and " << rank - 1 << ", got " << dim;
  return success();
}

LogicalResult AllGatherOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  return failed(n) || failed(verifyDim(*this, getDim())) ? failure() : verifyShapes(*this, *n, getDim(), -1);
}
LogicalResult ReduceScatterOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  return failed(n) || failed(verifyDim(*this, getDim())) ? failure() : verifyShapes(*this, *n, -1, getDim());
}
LogicalResult SliceOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  return failed(n) || failed(verifyDim(*this, getDim())) ? failure() : verifyShapes(*this, *n, -1, getDim());
}
LogicalResult AllReduceOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  return failed(n) ? failure() : verifyShapes(*this, *n, -1, -1);
}
LogicalResult MaskOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  return failed(n) ? failure() : verifyShapes(*this, *n, -1, -1);
}
LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> n = groupSize(*this, getAxes());
  if (failed(n) || failed(verifyDim(*this, getFrom())) || failed(verifyDim(*this, getTo())))
    return failure();
  if (getFrom() == getTo())
    return emitOpError() << "(C3) expected two different dims, got " << getFrom() << " twice";
  return verifyShapes(*this, *n, getFrom(), getTo());
}

::lf::Axes AllGatherOp::getGroupAxes() { return axesOf(getAxes()); }
::lf::Axes ReduceScatterOp::getGroupAxes() { return axesOf(getAxes()); }
::lf::Axes AllReduceOp::getGroupAxes() { return axesOf(getAxes()); }
::lf::Axes AllToAllOp::getGroupAxes() { return axesOf(getAxes()); }
::lf::Axes SliceOp::getGroupAxes() { return axesOf(getAxes()); }
::lf::Axes MaskOp::getGroupAxes() { return axesOf(getAxes()); }
