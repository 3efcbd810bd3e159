// elementwise.cpp - copies, sums, slices and transposes of dense arrays, and reductions to one real.
//
// On the cpu real and main are one type, the program's, so that the dtypes of these calls say nothing new.
#include "kernels/cpu/real.h"

#include <algorithm>
#include <cstring>

using namespace lf::rt;

namespace {

template <class T> LF_INLINE void copy(const T *x, T *y, int64_t count) {
  if (count > 0)
    std::memcpy(y, x, static_cast<size_t>(count) * sizeof(T));
}

template <class T> LF_INLINE void accumulate(const T *__restrict x, T *__restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] += x[i];
}

template <class T> LF_INLINE void add(const T *a, const T *b, T *__restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = a[i] + b[i];
}

template <class T> LF_INLINE void sum(const void *const *xs, int32_t terms, T *y, int64_t count) {
  // Blocks that stay in the first cache make one pass over memory out of any number of terms.
  constexpr int64_t block = 2048;
  if (terms == 0)
    std::fill(y, y + count, T(0));
  for (int64_t first = 0; first < count && terms > 0; first += block) {
    const int64_t n = std::min(block, count - first);
    if (terms == 1)
      copy(in<T>(xs[0]) + first, y + first, n);
    else
      add(in<T>(xs[0]) + first, in<T>(xs[1]) + first, y + first, n);
    for (int32_t t = 2; t < terms; ++t)
      accumulate(in<T>(xs[t]) + first, y + first, n);
  }
}

template <class T>
LF_INLINE void transpose(const T *__restrict x, T *__restrict y, int64_t a, int64_t b, int64_t inner) {
  if (inner > 8) {
    for (int64_t i = 0; i < b; ++i)
      for (int64_t j = 0; j < a; ++j)
        copy(x + (j * b + i) * inner, y + (i * a + j) * inner, inner);
    return;
  }
  // Short runs: square tiles, so that both sides use whole cache lines.
  constexpr int64_t tile = 16;
  for (int64_t i0 = 0; i0 < b; i0 += tile)
    for (int64_t j0 = 0; j0 < a; j0 += tile)
      for (int64_t i = i0; i < std::min(b, i0 + tile); ++i)
        for (int64_t j = j0; j < std::min(a, j0 + tile); ++j)
          for (int64_t e = 0; e < inner; ++e)
            y[(i * a + j) * inner + e] = x[(j * b + i) * inner + e];
}

} // namespace

void lf_copy(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    copy(in<T>(x), out<T>(y), count);
  });
}

void lf_zero(lf_rank *c, const char *what, void *y, int64_t count, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    std::fill(out<T>(y), out<T>(y) + count, T(0));
  });
}

void lf_fill(lf_rank *c, const char *what, void *y, double value, int64_t count) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    std::fill(out<T>(y), out<T>(y) + count, static_cast<T>(value));
  });
}

void lf_broadcast(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    std::fill(out<T>(y), out<T>(y) + count, *in<T>(x));
  });
}

void lf_accumulate(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    accumulate(in<T>(x), out<T>(y), count);
  });
}

void lf_sum(lf_rank *c, const char *what, const void *const *xs, int32_t terms, void *y, int64_t count, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    sum(xs, terms, out<T>(y), count);
  });
}

void lf_slice(lf_rank *c, const char *what, const void *x, void *y, int64_t outer, int64_t parts, int64_t inner,
              int64_t index, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    for (int64_t i = 0; i < outer; ++i)
      copy(in<T>(x) + (i * parts + index) * inner, out<T>(y) + i * inner, inner);
  });
}

void lf_transpose(lf_rank *c, const char *what, const void *x, void *y, int64_t a, int64_t b, int64_t inner, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    transpose(in<T>(x), out<T>(y), a, b, inner);
  });
}

void lf_sum_all(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    const T *values = in<T>(x);
    *out<T>(y) = static_cast<T>(lane_sum(count, [&](int64_t i) { return values[i]; }));
  });
}

void lf_count(lf_rank *c, const char *what, const int32_t *labels, void *y, int64_t count) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    *out<T>(y) = static_cast<T>(std::count_if(labels, labels + count, [](int32_t label) { return label >= 0; }));
  });
}
