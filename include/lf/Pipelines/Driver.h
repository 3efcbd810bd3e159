//===- Driver.h - One compilation, from a model to C++ ----------------------===//
//
// The phases in order, what is kept of each, and what a failure says. Plain C++ on the outside: the tools see no IR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"
#include "lf/Planner/PlanReport.h"
#include <optional>

namespace lf {

/// In order. The module after a phase is what --stop-after prints and --dump-phases-to writes.
enum class Phase {
  import,   ///< logical: one device, whole shapes
  train,    ///< forward and backward
  shard,    ///< a layout on every value
  spmd,     ///< local shapes, explicit collectives
  pipeline, ///< stages
  schedule, ///< one program for each pipeline rank
  runtime,  ///< lfrt: buffers, streams, tables
  emit      ///< C++
};
const char *nameOf(Phase);
/// Throws lf::Error (exit 2) for a name that is none of them; `flag` is named.
Phase parsePhase(const std::string &name, const std::string &flag);

struct Compiled {
  Phase last = Phase::emit;
  std::optional<PlanReport> report;  ///< from phase schedule on; with memory from phase runtime on
  std::string text;                  ///< the module after `last`, printed; or the C++ source
  std::vector<std::string> warnings; ///< of passes
};

/// Runs the phases up to `last`. With request.dumpPhases each phase is written to that folder as NN-phase.mlir, and the
/// source as program.cpp. `printed`: whether `text` is wanted where the last phase is a module.
/// Throws lf::Error: exit 2 with the first diagnostic of a pass that fails, notes that name the phase and an lf-opt
/// line which repeats it; exit 3 when plan.memoryBudget is exceeded, with the memory of every rank and changes that
/// would fit.
Compiled compile(const CompileRequest &request, const ModelConfig &model, Phase last, bool printed = true);

/// The whole of lf-compile but its command line's words: compiles, and writes what the request names. Returns the exit
/// code. `tool` is argv[0], from which headers and libraries are found. Throws lf::Error.
int runCompile(const CompileRequest &request, const ModelConfig &model, const std::string &tool);

} // namespace lf
