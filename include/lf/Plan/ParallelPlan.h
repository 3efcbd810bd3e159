//===- ParallelPlan.h - Everything that a user may decide -----------------===//
//
// The resolved plan: sizes, shapes, schedule. Made from flags and plan.json, checked against the model before any IR
// exists. Passes receive what they need of it as their own options or attributes, never this struct.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Model/ModelConfig.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lf {

struct SplitFlags; // PipelineSplit.h

enum class Dtype { f32, f64, bf16 };
enum class Target { cpu, cuda };

/// The layout that the compiler makes, once it knows what each op costs.
inline constexpr const char *autoLayout = "auto";

struct ParallelPlan {
  // sizes
  int64_t tp = 1, pp = 1, cp = 1, ep = 1, etp = 1, dp = 1, vpp = 1;
  int64_t world() const { return tp * pp * cp * dp; }
  bool sequenceParallel = false;

  // pipeline
  std::string layout;             ///< the user's own spelling; empty: derived; autoLayout: by costs
  std::string schedule = "1f1b";  ///< gpipe | 1f1b | interleaved | zb-h1 | zb-v
  int64_t groupSize = 0;          ///< micro-batches that run through a chunk before the next chunk; 0: pp
  bool overlapP2p = true;         ///< with several chunks on a rank, receives are posted ahead

  // shapes
  int64_t seqLength = 0, microBatch = 1, globalBatch = 0;
  int64_t microBatches() const { return globalBatch / (microBatch * dp); }
  Dtype dtype = Dtype::f32;
  double hiddenDropout = 0.0;
  int64_t vocabMultiple = 128;
  int64_t paddedVocab = 0;        ///< vocabulary rounded up to vocabMultiple * tp

  double mtpFactor = 0.1; ///< --mtp-loss-scaling-factor; the depths are ModelConfig::mtpDepths

  bool deterministic = false;
  int64_t memoryBudget = 0;       ///< bytes of one rank; 0: none stated

  /// tp = tpKv x tpRep: the part that splits kv heads and the part that repeats them (kv heads < tp).
  int64_t tpKv = 1, tpRep = 1;

  std::map<std::string, std::string> options; ///< every flag that differs from its default, in Megatron's long name
  std::vector<std::string> notices;           ///< what the compiler changed of what the user asked ("sequence parallelism is off: ...")
};

/// What one lf-compile call asks for besides the plan.
struct CompileRequest {
  std::string model, planIn, output, emit = "exe", report, planTrace, planOut, stopAfter, dumpPhases;
  Target target = Target::cpu;
  bool dryRun = false, help = false;
  int64_t worldSize = 0;           ///< as --world-size states it, 0 when it does not
  bool dataParallelStated = false; ///< by its own flag
  ParallelPlan plan;
};

/// What a tool makes of a command line: a program and other files, or nothing beyond the plan, so that flags of files are
/// refused.
enum class Asks { program, plan };

/// Parses the command line of lf-compile, without the program's name: Megatron's long names and our aliases, "-" and "_"
/// alike, the last of a repeated flag wins, --plan FILE read first; reads and checks the model; resolves defaults.
/// Throws lf::Error (exit 2): an unknown flag with the nearest known one, a flag not implemented yet by name, degrees
/// that do not divide with the arithmetic and the legal values. With --help only `help` is set and no model is read.
CompileRequest parseCompile(const std::vector<std::string> &args, ModelConfig &model, Asks asks = Asks::program);

/// The text of --help.
std::string compileHelp();

/// Checks a plan against a model and fills in what follows from both (paddedVocab, tpKv, tpRep, defaults; the
/// model's dropout unless options has "hidden-dropout" or "attention-dropout"). Throws lf::Error (exit 2).
void resolvePlan(ParallelPlan &, const ModelConfig &);
/// The same for a plan without a layout whose stages follow from flags: they become its layout, or its chunks.
void resolvePlan(ParallelPlan &, const ModelConfig &, const SplitFlags &);

} // namespace lf
