//===- EmitPrograms.cpp - Actions of each rank, step, main -------*- C++ -*-===//
//
// A static table of actions for each pipeline rank, the step that walks it, lf_program and main.
//
//===----------------------------------------------------------------------===//
#include "Writer.h"

namespace mlir::lfrt {

static std::string spot(std::optional<SpotAttr> attr) {
  if (!attr)
    return "{}";
  return std::string(attr->getArena().getValue() == "saved" ? "{LF_SAVED, " : "{LF_WORKSPACE, ") +
         std::to_string(attr->getOffset()) + "}";
}

static void emitStep(Writer &w) {
  w.line("template <int32_t n> static void run(lf_rank *r, const Action (&actions)[n]) {");
  w.line("  for (const Action &a : actions) {");
  w.line("    lf_enter(r, a.name, -1, a.micro_batch);");
  w.line("    a.run(r, a);");
  w.line("  }");
  w.line("}");
  w.line();
  w.line("static void step(lf_rank *r) {");
  w.line("  switch (lf_coordinate(r, " + w.mask(cast<ArrayAttr>(findMesh(w.from).getNames().get("pp"))) + ")) {");
  for (ProgramOp program : w.from.getOps<ProgramOp>()) {
    w.line("  case " + Twine(program.getPp()) + ":");
    w.line("    return run(r, program_" + Twine(program.getPp()) + ");");
  }
  w.line("  }");
  w.line("}");
  w.line();
}

static std::string text(ModuleOp module, StringRef name) {
  auto attr = module->getAttrOfType<StringAttr>(name);
  return literal(attr ? attr.getValue() : "", "    ");
}

void emitPrograms(Writer &w) {
  for (ProgramOp program : w.from.getOps<ProgramOp>()) {
    w.comment("What pipeline rank " + Twine(program.getPp()) + " does in a step, in order.");
    w.line("static const Action program_" + Twine(program.getPp()) + "[] = {");
    for (RunOp run : program.getBody().getOps<RunOp>())
      w.line("    {" + literal(run.getCallee()) + ", " + identifier(run.getCallee()) + ", " +
             Twine(int64_t(run.getMicroBatch())) + ", " + Twine(run.getBundle()) + ", " + spot(run.getInput()) + ", " +
             spot(run.getOutput()) + "},");
    w.line("};");
    w.line();
  }
  emitStep(w);
  ModelOp model = *w.from.getOps<ModelOp>().begin();
  MeshOp mesh = findMesh(w.from);
  auto strategy = [&](StringRef name) {
    auto axes = dyn_cast_or_null<ArrayAttr>(mesh.getNames().get(name));
    return axes ? w.mask(axes) : std::string("0x0");
  };
  auto count = [](auto range) { return std::to_string(std::distance(range.begin(), range.end())); };
  double flops = 0;
  if (auto attr = w.from->getAttrOfType<FloatAttr>("lf.flops_per_token"))
    flops = attr.getValueAsDouble();
  auto field = [&](const Twine &value, StringRef what) { w.line("    " + value + ", // " + what); };
  w.line("static const lf_program program = {");
  for (StringRef name : {"name", "config", "plan", "report"}) {
    w.line("    // " + name);
    w.line("    " + text(w.from, ("lf." + name).str()) + ",");
  }
  field(dtypeName(model.getDtype()), "dtype");
  field("axes, " + Twine(mesh.getAxes().size()), "axes");
  field(strategy("pp") + ", " + strategy("dp") + ", " + strategy("cp") + ", " + strategy("tp"), "pp, dp, cp, tp");
  field("comms, " + count(w.from.getOps<CommOp>()) + ", " + Twine(w.comm("world")), "comms, world");
  field("params, " + count(w.from.getOps<ParameterOp>()), "params");
  field("places, " + count(w.from.getOps<PlaceOp>()), "places");
  field("regions, " + count(w.from.getOps<RegionOp>()), "regions");
  field("memory", "memory");
  field(Twine(model.getSeqLength()), "seq_length");
  field(Twine(model.getMicroBatch()), "micro_batch");
  field(Twine(model.getMicroBatches()), "micro_batches");
  field(Twine(model.getVocab()), "vocab");
  field(Twine(model.getLayers()), "layers");
  field(number(flops), "flops_per_token");
  field("step", "step");
  field(Twine(int64_t(model.getMtpDepths())), "mtp_depths");
  field(w.from->hasAttr("lf.deterministic") ? "1" : "0", "deterministic");
  auto messages = w.from.getOps<MessageOp>();
  field((messages.empty() ? "nullptr, " : "messages, ") + count(messages), "messages");
  w.line("};");
  w.line();
  w.line("int main(int argc, char **argv) { return lf_main(argc, argv, &program); }");
}

} // namespace mlir::lfrt
