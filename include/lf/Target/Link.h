//===- Link.h - From C++ to an executable -----------------------------------===//
//
// Calls the host compiler on an emitted program and links it with the runtime of its target.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"

#include <string>

namespace lf {

/// Compiles `cpp` and links it with liblf_runtime_cpu or liblf_runtime_cuda to the executable `output`. The compiler is $LF_CXX (words are separated by blanks),
/// else the one that built this tool, else c++; -O1, or -O$LF_OPT. Header and archive are found beside the tool (its
/// folder's ../lib and ../include), else where this tool was built. `tool` is argv[0], for systems that cannot say
/// where a program lies. Throws lf::Error (exit 2): output cannot be written (checked first), no runtime, or the
/// command that failed with what it printed.
void linkExecutable(const std::string &cpp, const std::string &output, Target target, const std::string &tool);

} // namespace lf
