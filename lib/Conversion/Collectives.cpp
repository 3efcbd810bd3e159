//===- Collectives.cpp - Collectives on their streams ------------*- C++ -*-===//
//
// A group's index is outermost in what communicators move; for other dims a transpose brings it there or away.
//
//===----------------------------------------------------------------------===//
#include "BodyLowering.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

namespace mlir::lfrt {

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}
static int64_t before(Value v, int64_t dim) { return product(tensorOf(v).getShape().take_front(dim)); }
static int64_t below(Value v, int64_t dim) { return product(tensorOf(v).getShape().drop_front(dim)); }
static BufferType buffer(Value v) { return bufferFor(v.getType()); }

void BodyLowering::onStream(Location loc, const std::string &comm, llvm::function_ref<void()> emit) {
  Value ready = record(b, loc, "compute");
  WaitOp::create(b, loc, b.getStringAttr(comm), ready);
  emit();
  Value done = record(b, loc, comm);
  WaitOp::create(b, loc, b.getStringAttr("compute"), done);
}

Value BodyLowering::transpose(Operation *op, Value x, Value y, int64_t a, int64_t n, int64_t inner) {
  if (a == 1 || n == 1)
    return x;
  if (!y)
    y = slot("workspace", unique(label(op) + "_order"), cast<BufferType>(x.getType()));
  launch(op, "transpose", {x}, {y}, {i(a), i(n), i(inner)});
  return y;
}

void BodyLowering::gather(lf::AllGatherOp op) {
  int64_t n = l.groups.size(lf::axesOf(op.getAxes())), outer = before(op.getX(), op.getDim());
  std::string comm = l.groups.comm(l.groups.trim(lf::axesOf(op.getAxes())));
  Value x = get(op.getX()), y = result(op.getResult());
  // [n, outer, part] as gathered; [outer, n, part] as wanted.
  Value gathered = outer == 1 ? y : slot("workspace", unique(label(op) + "_parts"), buffer(op.getResult()));
  onStream(op.getLoc(), comm, [&] { AllGatherOp::create(b, op.getLoc(), label(op), x, gathered, comm); });
  transpose(op, gathered, y, n, outer, below(op.getX(), op.getDim()));
}

void BodyLowering::scatter(lf::ReduceScatterOp op) {
  int64_t n = l.groups.size(lf::axesOf(op.getAxes())), outer = before(op.getX(), op.getDim());
  std::string comm = l.groups.comm(l.groups.trim(lf::axesOf(op.getAxes())));
  Value x = transpose(op, get(op.getX()), {}, outer, n, below(op.getResult(), op.getDim()));
  Value y = result(op.getResult());
  onStream(op.getLoc(), comm,
           [&] { ReduceScatterOp::create(b, op.getLoc(), label(op), x, y, op.getReduction(), comm); });
}

void BodyLowering::exchange(lf::AllToAllOp op) {
  int64_t n = l.groups.size(lf::axesOf(op.getAxes()));
  std::string comm = l.groups.comm(l.groups.trim(lf::axesOf(op.getAxes())));
  // Dim `to` is cut into the parts that go out, [outer, n, part] -> [n, outer, part].
  Value x = transpose(op, get(op.getX()), {}, before(op.getX(), op.getTo()), n, below(op.getX(), op.getTo()) / n);
  Value y = result(op.getResult());
  // What comes in, [n, outer, rest], belongs in front of dim `from`.
  int64_t outer = before(op.getResult(), op.getFrom());
  Value arrived = outer == 1 ? y : slot("workspace", unique(label(op) + "_parts"), buffer(op.getResult()));
  onStream(op.getLoc(), comm, [&] { AllToAllOp::create(b, op.getLoc(), label(op), x, arrived, comm); });
  transpose(op, arrived, y, n, outer, below(op.getResult(), op.getFrom()) / n);
}

void BodyLowering::reduce(lf::AllReduceOp op) {
  std::string comm = l.groups.comm(l.groups.trim(lf::axesOf(op.getAxes())));
  Value x = get(op.getX()), y = result(op.getResult());
  onStream(op.getLoc(), comm, [&] { AllReduceOp::create(b, op.getLoc(), label(op), x, y, op.getReduction(), comm); });
}

Value BodyLowering::cut(Value buffer, lf::SliceOp slice) {
  ::lf::Axes axes = lf::axesOf(slice.getAxes());
  BufferType whole = cast<BufferType>(buffer.getType());
  int64_t count = whole.getCount() / l.groups.size(axes);
  if (count == whole.getCount())
    return buffer;
  return ViewOp::create(b, slice.getLoc(), BufferType::get(b.getContext(), whole.getElement(), count), buffer,
                        cast<CoordinateAttr>(l.groups.coordinate(axes, count)));
}

void BodyLowering::part(lf::SliceOp op) {
  if (tensorOf(op.getX()).getElementType().isInteger(32)) {
    buffers[op.getResult()] = cut(get(op.getX()), op);
    return;
  }
  ::lf::Axes axes = lf::axesOf(op.getAxes());
  launch(op, "slice",
         {i(before(op.getX(), op.getDim())), i(l.groups.size(axes)), i(below(op.getResult(), op.getDim())),
          l.groups.coordinate(axes, 1)});
}

bool BodyLowering::lowerCollective(Operation *op) {
  if (isIdentity(l.groups, op))
    return true; // An alias.
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](lf::AllGatherOp o) { return gather(o), true; })
      .Case([&](lf::ReduceScatterOp o) { return scatter(o), true; })
      .Case([&](lf::AllToAllOp o) { return exchange(o), true; })
      .Case([&](lf::AllReduceOp o) { return reduce(o), true; })
      .Case([&](lf::SliceOp o) { return part(o), true; })
      .Case([&](lf::MaskOp o) {
        Value x = get(o.getX());
        MaskOp::create(b, o.getLoc(), b.getStringAttr(label(o)), x, result(o.getResult()),
                       lf::axesAttr(b.getContext(), l.groups.trim(lf::axesOf(o.getAxes()))));
        return true;
      })
      .Default(false);
}

} // namespace mlir::lfrt
