// real.h - from the untyped pointers of lf/runtime.h to a template on the real type.
//
// Idea: each entry point is one call of with_real around a template; float trains, double verifies, and both run the
// same text.
#pragma once

#include "kernels/cpu/wide.h"
#include "lf/runtime.h"
#include "rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

/// Calls body(T{}) with T the program's real type, compiled for the processor's widest vectors. Failure 2 for a type
/// that the cpu has no arithmetic for.
template <class Body> void with_real(const lf_rank *c, const char *what, Body &&body) {
  switch (c->program->dtype) {
  case LF_F32:
    return wide([&] { LF_INLINED body(float{}); });
  case LF_F64:
    return wide([&] { LF_INLINED body(double{}); });
  case LF_BF16:
    break;
  }
  throw Failure{2, std::string("\"") + what +
                       "\": expected the compute type on cpu to be float32 or float64, got bfloat16; compile with "
                       "--fp32 or --fp64, or for --target cuda"};
}

template <class T> const T *in(const void *p) { return static_cast<const T *>(p); }
template <class T> T *out(void *p) { return static_cast<T *>(p); }

/// Scratch of at least `count` elements that the calling thread keeps, so that steps after the first allocate nothing.
/// Each Tag is one buffer; its contents do not survive the next call with the same Tag.
template <class Tag, class T> T *scratch(int64_t count) {
  thread_local std::vector<T> buffer;
  if (static_cast<int64_t>(buffer.size()) < count)
    buffer.resize(static_cast<size_t>(count));
  return buffer.data();
}

/// Sum over i in [0, n) of term(i) in double, over lanes of fixed number: it vectorises, and its order depends on n
/// alone.
template <class Term> LF_INLINE double lane_sum(int64_t n, Term &&term) {
  constexpr int64_t lanes = 16;
  double acc[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int64_t j = 0; j < lanes; ++j)
      acc[j] += static_cast<double>(term(i + j));
  for (; i < n; ++i)
    acc[i % lanes] += static_cast<double>(term(i));
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j)
      acc[j] += acc[j + half];
  return acc[0];
}

} // namespace lf::rt
