//===- Driver.cpp - One compilation, from a model to C++ ---------*- C++ -*-===//
//
// The phases in order; the report is read off the IR as soon as the facts are there.
//
//===----------------------------------------------------------------------===//
#include "lf/Pipelines/Driver.h"
#include "DriverPhases.h"
#include "lf/Analysis/AnalyzePlan.h"
#include "lf/Analysis/ReadMemory.h"
#include "lf/Analysis/ReadTraffic.h"
#include "lf/Conversion/Conversion.h"
#include "lf/Conversion/DeviceMemory.h"
#include "lf/Import/ImportModel.h"
#include "lf/Pipelines/Pipelines.h"
#include "lf/Plan/PlanJson.h"
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"
#include "lf/Support/Files.h"
#include "lf/Support/Text.h"
#include "lf/Target/EmitCpp.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::lf;
using ::lf::Phase;

static const char *const phaseNames[] = {"import", "train", "shard", "spmd", "pipeline", "schedule", "runtime", "emit"};

const char * ::lf::nameOf(Phase phase) { return phaseNames[static_cast<int>(phase)]; }

Phase(::lf::parsePhase)(const std::string &name, const std::string &flag) {
  for (int i = 0; i < 8; ++i)
    if (name == phaseNames[i])
      return static_cast<Phase>(i);
  std::vector<std::string> known(std::begin(phaseNames), std::end(phaseNames));
  std::string near = nearest(name, known);
  throw usage(quote(flag) + ": expected " + list(known, "or") + ", got " + quote(name) +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

namespace {

struct Run {
  const ::lf::CompileRequest &request;
  const ::lf::ModelConfig &model;
  Phase last;
  ::lf::Compiled result{};
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module{};
  double flopsPerToken = 0;
  ::lf::ParallelPlan plan{request.plan}; ///< with the layout that "auto" turns out to be

  ::lf::Compiled operator()(bool wantsText);
  void build(Phase phase, OpPassManager &passes);
  void after(Phase phase);
  void describeItself();
  void dump(const std::string &name, const std::string &text);
};

void Run::build(Phase phase, OpPassManager &passes) {
  PipelineOptions options;
  options.pp = plan.pp;
  options.dp = plan.dp;
  options.tp = plan.tp;
  options.tpRep = plan.tpRep;
  options.microBatches = plan.microBatches();
  options.sequenceParallel = plan.sequenceParallel;
  options.vpp = plan.vpp;
  options.groupSize = plan.groupSize;
  options.overlapP2p = plan.overlapP2p;
  options.layout = plan.layout;
  options.schedule = plan.schedule;
  switch (phase) {
  case Phase::train:
    return buildTrainPipeline(passes);
  case Phase::shard:
    return buildShardPipeline(passes, options);
  case Phase::spmd:
    return buildPartitionPipeline(passes);
  case Phase::pipeline:
    return buildStagePipeline(passes, options);
  case Phase::schedule:
    return buildSchedulePipeline(passes, options);
  case Phase::runtime:
    return buildLowerPipeline(passes);
  case Phase::import:
  case Phase::emit:
    return;
  }
}

/// The config.json of what is trained: with the depths that --save-hf writes beside the layers.
std::string configOf(const ::lf::ModelConfig &model) {
  const char *key = "num_nextn_predict_layers";
  if (model.source.empty())
    return "";
  ::lf::Json config = ::lf::parseJson(model.source, "the model");
  if (model.mtpDepths == 0 && !config.contains(key))
    return model.source;
  config[key] = model.mtpDepths;
  return config.dump(2) + "\n";
}

/// What the executable says about itself; read by lf-emit-cpp.
void Run::describeItself() {
  OpBuilder b(&context);
  const ::lf::PlanReport &report = *result.report;
  (*module)->setAttr("lf.name", b.getStringAttr(planName(report)));
  (*module)->setAttr("lf.config", b.getStringAttr(configOf(model)));
  (*module)->setAttr("lf.plan", b.getStringAttr(::lf::planText(fullPlanJson(report, /*everyRank=*/false))));
  (*module)->setAttr("lf.report", b.getStringAttr(textReport(report)));
  (*module)->setAttr("lf.flops_per_token", b.getF64FloatAttr(report.flopsPerToken));
}

void Run::after(Phase phase) {
  if (phase == Phase::train)
    flopsPerToken = mlir::lf::flopsPerToken(*module, plan.microBatch * plan.dp * plan.seqLength);
  // What one byte costs in flops: about a desktop's core, and a GPU of today.
  if (phase == Phase::spmd && plan.layout == ::lf::autoLayout)
    plan.layout = balancedLayout(*module, plan.pp, plan.vpp, request.target == ::lf::Target::cpu ? 10 : 250);
  if (phase == Phase::schedule) {
    result.report = analyzePrograms(*module, model, plan);
    result.report->flopsPerToken = flopsPerToken;
  }
  if (phase == Phase::runtime) {
    if (plan.deterministic)
      (*module)->setAttr("lf.deterministic", UnitAttr::get(&context));
    if (request.target == ::lf::Target::cuda)
      lfrt::planDeviceMemory(*module);
    readMemory(*module, *result.report);
    readTraffic(*module, *result.report);
    describeItself();
  }
}

void Run::dump(const std::string &name, const std::string &text) {
  if (!request.dumpPhases.empty())
    ::lf::writeFile(request.dumpPhases + "/" + name, text, "--dump-phases-to");
}

::lf::Compiled Run::operator()(bool wantsText) {
  if (!request.dumpPhases.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(request.dumpPhases))
      throw ::lf::usage("\"--dump-phases-to\": expected a folder that can be made, got " +
                        ::lf::quote(request.dumpPhases) + ": " + error.message());
  DialectRegistry registry;
  registerDialects(registry);
  registry.insert<lfrt::LfrtDialect, emitc::EmitCDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false); // the place is named; the generic form of an op would hide it
  // A layout is a user's words: refuse it before there is IR to speak of. lf-assign-stages checks again.
  ::lf::LayoutRequest layout;
  layout.pp = request.plan.pp;
  layout.layers = model.layers;
  layout.mtp = model.mtpDepths;
  layout.placement = ::lf::placementOf(::lf::parseSchedule(request.plan.schedule));
  ::lf::resolveLayout(::lf::layoutText(request.plan, model), layout);
  result.last = last;
  for (int i = 0; i <= std::min(static_cast<int>(last), static_cast<int>(Phase::runtime)); ++i) {
    Phase phase = static_cast<Phase>(i);
    if (phase == Phase::import)
      module = importModel(context, model, request.plan);
    else
      runPhase(
          *module, phase, [&](OpPassManager &passes) { build(phase, passes); }, request.dumpPhases, result.warnings);
    after(phase);
    if (!request.dumpPhases.empty())
      dump("0" + std::to_string(i + 1) + "-" + nameOf(phase) + ".mlir", printed(*module));
  }
  if (last == Phase::emit) {
    llvm::raw_string_ostream stream(result.text);
    if (failed(emitCpp(*module, stream)))
      throw ::lf::usage("expected a module that can be emitted as C++ after phase \"runtime\"");
    dump("program.cpp", result.text);
  } else if (wantsText) {
    result.text = printed(*module);
  }
  return std::move(result);
}

} // namespace

::lf::Compiled(::lf::compile)(const CompileRequest &request, const ModelConfig &model, Phase last, bool wantsText) {
  return Run{request, model, last}(wantsText);
}
