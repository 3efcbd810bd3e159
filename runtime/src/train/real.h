//===- real.h - The type of master weights and gradients -------------------------------===//
//
// One place that turns lf_program::dtype into a C++ type.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../rank.h"

#include <type_traits>

namespace lf::rt {

/// Type of arrays that are `main` (lf/runtime.h).
inline lf_dtype main_dtype(const lf_program &program) { return program.dtype == LF_BF16 ? LF_F32 : program.dtype; }

/// Calls f(Real{}) with the main type of the program (lf/runtime.h): that of gradients, moments and master weights.
template <class F> decltype(auto) with_real(const lf_program &program, F &&f) {
  if (program.dtype == LF_F64)
    return f(double{});
  return f(float{});
}

} // namespace lf::rt
