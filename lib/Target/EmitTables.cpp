//===- EmitTables.cpp - The tables of lf_program -----------------*- C++ -*-===//
//
// Axes, communicators, parameters, places, regions, memory, and the program itself at the end of the file.
//
//===----------------------------------------------------------------------===//
#include "Writer.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::lfrt {

static std::string list(ArrayRef<int64_t> values) {
  std::string text = "{";
  for (auto [i, value] : llvm::enumerate(values))
    text += (i ? ", " : "") + std::to_string(value);
  return text + "}";
}

static void emitParameters(Writer &w) {
  w.comment("Parameters: name, file name, dims, whole shape, without padding, axes of each dim, rows, transposed, "
            "columns in the");
  w.comment("file's tensor, decay, initial values, rows in the file's tensor, may be missing from a file.");
  w.line("static const lf_param params[] = {");
  for (ParameterOp p : w.from.getOps<ParameterOp>()) {
    std::string split = "{";
    for (auto [i, axes] : llvm::enumerate(p.getSplit()))
      split += (i ? ", " : "") + w.mask(cast<ArrayAttr>(axes));
    split += "}";
    StringRef init = p.getInit() == "ones"     ? "LF_INIT_ONES"
                     : p.getInit() == "normal" ? "LF_INIT_NORMAL"
                                               : "LF_INIT_ZEROS";
    w.line("    {" + literal(p.getName()) + ", " + literal(p.getHfName()) + ",");
    w.line("     " + Twine(p.getShape().size()) + ", " + list(p.getShape()) + ", " + list(p.getValid()) + ", " + split +
           ", " + Twine(p.getRows()) + ", " + Twine(int(p.getTransposed())) + ", " + Twine(p.getHfCol()) + ", " +
           Twine(p.getHfCols()) + ", " + Twine(int(p.getDecay())) + ", " + init + ", " +
           number(p.getStd().convertToDouble()) + ", " + Twine(int64_t(p.getHfRow())) + ", " +
           Twine(int64_t(p.getHfRows())) + ", " + Twine(int(p.getOptional())) + "},");
  }
  w.line("};");
  w.line();
}

static void emitPlaces(Writer &w) {
  SmallVector<ParameterOp> parameters(w.from.getOps<ParameterOp>());
  w.comment("Where parameters live: parameter, pipeline rank, first layer, layers, offset, stride, copy.");
  w.line("static const lf_place places[] = {");
  for (auto [i, p] : llvm::enumerate(w.from.getOps<PlaceOp>())) {
    ParameterOp parameter = parameters[p.getParam()];
    w.line("    {" + Twine(p.getParam()) + ", " + Twine(p.getPp()) + ", " + Twine(int64_t(p.getFirst())) + ", " +
           Twine(p.getCount()) + ", " + Twine(p.getOffset()) + ", " + Twine(p.getStride()) + ", " +
           Twine(int(p.getCopy())) + "}, // " + Twine(i) + ": " + parameter.getOwner() + "." + parameter.getName());
  }
  w.line("};");
  w.line();
}

void emitTables(Writer &w) {
  MeshOp mesh = findMesh(w.from);
  ModelOp model = *w.from.getOps<ModelOp>().begin();
  if (model.getDtype().isBF16()) {
    w.line("typedef uint16_t real; // bfloat16");
    w.line("typedef float main_real;");
    w.mainName = "main_real";
  } else {
    w.line("typedef " + elementName(model.getDtype()) + " real;");
  }
  w.line();
  w.line("static const lf_axis axes[] = {");
  for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
    w.line("    {" + literal(cast<StringAttr>(axis).getValue()) + ", " + Twine(size) + "},");
  w.line("};");
  w.comment("Communicator n has stream 1 + n; stream 0 computes.");
  w.line("static const lf_comm comms[] = {");
  for (CommOp comm : w.from.getOps<CommOp>())
    w.line("    {" + literal(comm.getName()) + ", " + w.mask(comm.getAxes()) + "},");
  w.line("};");
  w.line();
  emitParameters(w);
  emitPlaces(w);
  w.comment("Regions of the arena: pipeline rank, offset, count, communicator of the gradient, axes that split it, "
            "decay, copy.");
  w.line("static const lf_region regions[] = {");
  for (RegionOp r : w.from.getOps<RegionOp>())
    w.line("    {" + Twine(r.getPp()) + ", " + Twine(r.getOffset()) + ", " + Twine(r.getCount()) + ", " +
           Twine(r.getComm() ? w.comm(*r.getComm()) : -1) + ", " + w.mask(r.getOwned()) + ", " +
           Twine(int(r.getDecay())) + ", " + Twine(int(r.getCopy())) + "},");
  w.line("};");
  w.comment("Bytes of each pipeline rank: parameters, gradients, optimizer, saved, workspace, staging, driver.");
  w.line("static const lf_memory memory[] = {");
  for (MemoryOp m : w.from.getOps<MemoryOp>())
    w.line("    {" + Twine(m.getParameters()) + ", " + Twine(m.getGradients()) + ", " + Twine(m.getOptimizer()) + ", " +
           Twine(m.getSaved()) + ", " + Twine(m.getWorkspace().value_or(m.getBase())) + ", " +
           Twine(int64_t(m.getStaging())) + ", " + Twine(int64_t(m.getDriver())) + "},");
  w.line("};");
  auto messages = w.from.getOps<MessageOp>();
  if (!messages.empty()) {
    w.comment("Messages of a step: from and to pipeline rank, tag, count of the largest, type.");
    w.line("static const lf_message messages[] = {");
    for (MessageOp m : messages) {
      auto type = cast<BufferType>(m.getType());
      w.line("    {" + Twine(int64_t(m.getFrom())) + ", " + Twine(int64_t(m.getTo())) + ", " + Twine(int64_t(m.getTag())) +
             ", " + Twine(type.getCount()) + ", " + dtypeName(type.getElement()) + "},");
    }
    w.line("};");
  }
  w.line();
}

} // namespace mlir::lfrt
