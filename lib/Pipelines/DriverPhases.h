//===- DriverPhases.h - Running the passes of one phase ---------------------===//
//
// Internal to the driver: a phase either succeeds, or throws with everything needed to repeat it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Pipelines/Driver.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::lf {

/// Runs the passes that `build` adds on `module`. On failure throws ::lf::Error (exit 2): the first diagnostic; notes
/// say where it was, its own notes, the phase, the pass, and the lf-opt line that repeats the failure on the phase's
/// input, which is written to `folder` (empty: a temporary file). Warnings are appended to `warnings`.
void runPhase(ModuleOp module, ::lf::Phase phase, llvm::function_ref<void(OpPassManager &)> build,
              const std::string &folder, std::vector<std::string> &warnings);

/// `--lf-annotate="dp=2 tp=4"`: a pass as lf-opt takes it.
std::string flagOf(Pass &pass);

std::string printed(ModuleOp module, bool locations = false);

} // namespace mlir::lf
