//===- real.h - The real type of the arenas -------------------------------===//
//
// One place that turns lf_program::dtype into a C++ type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../rank.h"

#include <type_traits>

namespace lf::rt {

/// Calls f(Real{}) with the type that the arenas of the program hold. Throws Failure 2 for one that the cpu lacks.
template <class F> decltype(auto) with_real(const lf_program &program, F &&f) {
  if (program.dtype == LF_F64)
    return f(double{});
  if (program.dtype != LF_F32)
    throw Failure{2, "the program's type: expected float32 or float64 on the cpu, got " +
                         std::to_string(program.dtype) + "; compile it with --fp32 or --fp64"};
  return f(float{});
}

} // namespace lf::rt
