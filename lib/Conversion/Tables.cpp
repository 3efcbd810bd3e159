//===- Tables.cpp - What the program states about itself ---------*- C++ -*-===//
//
// Mesh, model sizes, communicators, parameters, places, regions and memory as ops, in the order of runtime.h.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

namespace mlir::lfrt {

static void writeParameter(Lowering &l, OpBuilder &b, lf::DeclareOp declare) {
  auto type = cast<RankedTensorType>(declare.getType());
  SmallVector<Attribute> split;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    ::lf::Axes axes;
    if (auto layout = declare.getLayout())
      axes = l.groups.trim(lf::axesOf(cast<ArrayAttr>(layout->getDims()[i])));
    split.push_back(lf::axesAttr(b.getContext(), axes));
  }
  ParameterOp::create(b, declare.getLoc(), declare.getOwner(), declare.getName(), type.getShape(), declare.getValid(),
                      b.getArrayAttr(split), declare.getRows(), declare.getTransposed(), declare.getHfName(),
                      declare.getHfCol(), declare.getHfCols(), declare.getHfRow(), declare.getHfRows(),
                      declare.getOptional(), declare.getDecay(), declare.getInit(), declare.getStd());
}

static void writeModel(Lowering &l, OpBuilder &b) {
  int64_t microBatches = 0, layers = 0, vocab = 1;
  for (lf::ProgramOp program : l.module.getOps<lf::ProgramOp>())
    for (lf::RunOp run : program.getBody().getOps<lf::RunOp>())
      microBatches = std::max<int64_t>(microBatches, run.getMicroBatch() + 1);
  for (const Stage &stage : l.stages)
    for (const Run &run : stage.runs)
      if (run.first >= 0)
        layers += run.count;
  for (lf::DeclareOp declare : l.parameters)
    if (declare.getName() == "embedding")
      vocab = declare.getValid()[0];
  ModelOp::create(b, l.module.getLoc(), TypeAttr::get(l.real), b.getI64IntegerAttr(l.sequence),
                  b.getI64IntegerAttr(l.batch), b.getI64IntegerAttr(microBatches), b.getI64IntegerAttr(vocab),
                  b.getI64IntegerAttr(layers),
                  b.getI64IntegerAttr((*l.module.getOps<lf::ChainOp>().begin()).getDepths()));
}

void writeTables(Lowering &l, OpBuilder &b, const std::vector<std::pair<int64_t, int64_t>> &memory) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(l.module.getBody());
  Location loc = l.module.getLoc();
  lf::MeshOp mesh = l.groups.mesh;
  MeshOp::create(b, loc, mesh.getAxesAttr(), mesh.getSizesAttr(), mesh.getNamesAttr());
  writeModel(l, b);
  for (const auto &[name, axes] : l.groups.comms)
    CommOp::create(b, loc, b.getStringAttr(name), lf::axesAttr(b.getContext(), axes));
  CommOp::create(b, loc, b.getStringAttr("world"), mesh.getAxesAttr());
  for (lf::DeclareOp declare : l.parameters)
    writeParameter(l, b, declare);
  for (const Place &place : l.places)
    PlaceOp::create(b, loc, l.parameterIndex(place.name), place.pp, place.first, place.count, place.offset,
                    place.stride, place.copy);
  for (const Region &region : l.regions)
    RegionOp::create(b, loc, b.getI64IntegerAttr(region.pp), b.getI64IntegerAttr(region.offset),
                     b.getI64IntegerAttr(region.count),
                     region.partial.empty() ? StringAttr() : b.getStringAttr(l.groups.comm(region.partial)),
                     lf::axesAttr(b.getContext(), region.owned), region.decay ? b.getUnitAttr() : UnitAttr(),
                     region.copy ? b.getUnitAttr() : UnitAttr());
  for (auto [pp, bytes] : llvm::enumerate(memory)) {
    int64_t parameters = l.elements[pp] * l.realBytes(), one = l.elements[pp] * l.mainBytes();
    // Both moments, and the master weights where the parameters are a rounded copy of them.
    int64_t optimizer = (l.real == l.main ? 2 : 3) * one;
    MemoryOp::create(b, loc, b.getI64IntegerAttr(pp), b.getI64IntegerAttr(parameters), b.getI64IntegerAttr(one),
                     b.getI64IntegerAttr(optimizer), b.getI64IntegerAttr(bytes.first), b.getI64IntegerAttr(bytes.second),
                     IntegerAttr(), IntegerAttr(), IntegerAttr(), b.getI64IntegerAttr(0));
  }
}

} // namespace mlir::lfrt
