//===- FaultyProgram.h - A compiled program that fails when it is told ------===//
//
// Compiled as lf-compile does, with one call more at the start of each step: the environment names a rank, a step and
// what happens there. Tests of failures need ranks that die and stop at a known place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Scratch.h"
#include <functional>
#include <string>
#include <vector>

namespace lf::test {

/// Compiles a small tied llama for `flags` (with --fp32, a sequence of 16, four samples a step) to scratch/name and
/// writes scratch/tokens.bin. The program reads LF_FAULT="RANK STEP WHAT" (step from 1): "die" ends the process by
/// SIGKILL, "stop" suspends it by SIGSTOP, "throw" lets the rank fail a second later, when the others wait, "sleep"
/// keeps it from ever going on (the last two concern one rank also where ranks are threads). Returns the path of the
/// executable.
std::string compileFaulty(const Scratch &scratch, const std::string &name, const std::vector<std::string> &flags);

struct Finished {
  int code;           ///< exit code, or 128 + signal
  std::string output; ///< stdout and stderr
  double seconds;
};

/// Runs words with additions to the environment ("LF_FAULT=1 2 stop") and waits; kills it after `limit` seconds
/// (code -1). With `killWhen` the process gets SIGKILL as soon as that says so; it is asked again and again.
Finished runProgram(const std::vector<std::string> &words, const std::vector<std::string> &environment = {},
                    double limit = 60, const std::function<bool()> &killWhen = nullptr);

} // namespace lf::test
