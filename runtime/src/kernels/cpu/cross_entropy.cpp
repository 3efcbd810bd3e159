// cross_entropy.cpp - softmax cross entropy in pieces that a vocabulary split over ranks can combine.
//
// Idea: m = max over shards of row_max, z = sum over shards of sum_exp, t = sum over shards of pick; then each rank has
// what nll and the gradient of its own columns need. Columns at or above `valid` are padding and never count.
#include "kernels/cpu/math.h"
#include "kernels/cpu/real.h"

#include <algorithm>
#include <cmath>

using namespace lf::rt;

namespace {

/// Columns of this shard that are not padding.
int64_t valid_columns(int64_t v, int64_t offset, int64_t valid) { return std::clamp<int64_t>(valid - offset, 0, v); }

template <class T> LF_INLINE void row_max(const T *l, T *m, int64_t rows, int64_t v, int64_t columns) {
  constexpr int64_t lanes = 32;
  // Finite, so that a shard of padding alone loses every maximum and exp(m - m) stays defined.
  constexpr T least = T(-1e30);
  for (int64_t i = 0; i < rows; ++i, l += v) {
    T best[lanes];
    std::fill(best, best + lanes, least);
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes)
      for (int64_t k = 0; k < lanes; ++k)
        best[k] = l[j + k] > best[k] ? l[j + k] : best[k];
    for (; j < columns; ++j)
      best[0] = l[j] > best[0] ? l[j] : best[0];
    m[i] = *std::max_element(best, best + lanes);
  }
}

template <class T> LF_INLINE void sum_exp(const T *l, const T *m, T *z, int64_t rows, int64_t v, int64_t columns) {
  // Short sums in T, which vectorise well, of blocks that are then added in double.
  constexpr int64_t lanes = 32, block = 32 * lanes;
  for (int64_t i = 0; i < rows; ++i, l += v) {
    const T top = m[i];
    double total = 0.0;
    for (int64_t first = 0; first < columns; first += block) {
      const int64_t end = std::min(columns, first + block);
      T sums[lanes] = {};
      int64_t j = first;
      for (; j + lanes <= end; j += lanes)
        for (int64_t k = 0; k < lanes; ++k)
          sums[k] += fast_exp(l[j + k] - top);
      for (; j < end; ++j)
        sums[0] += fast_exp(l[j] - top);
      for (int64_t k = 0; k < lanes; ++k)
        total += static_cast<double>(sums[k]);
    }
    z[i] = static_cast<T>(total);
  }
}

template <class T>
LF_INLINE void pick(const T *l, const int32_t *labels, T *t, int64_t rows, int64_t v, int64_t offset) {
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t column = labels[i] - offset;
    t[i] = labels[i] >= 0 && column >= 0 && column < v ? l[i * v + column] : T(0);
  }
}

template <class T> LF_INLINE void nll(const T *z, const T *m, const T *t, const int32_t *labels, T *y, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i)
    y[i] = labels[i] < 0 ? T(0) : std::log(z[i]) + m[i] - t[i];
}

template <class T>
LF_INLINE void cross_entropy_grad(const T *l, const T *m, const T *z, const int32_t *labels, const T *g, T *dl,
                                  int64_t rows, int64_t v, int64_t offset, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i, l += v, dl += v) {
    if (labels[i] < 0) {
      std::fill(dl, dl + v, T(0));
      continue;
    }
    const T top = m[i], factor = g[i] / z[i];
    for (int64_t j = 0; j < columns; ++j)
      dl[j] = fast_exp(l[j] - top) * factor;
    std::fill(dl + columns, dl + v, T(0));
    const int64_t column = labels[i] - offset;
    if (column >= 0 && column < columns)
      dl[column] -= g[i];
  }
}

} // namespace

void lf_row_max(lf_rank *c, const char *what, const void *l, void *m, int64_t rows, int64_t v, int64_t offset,
                int64_t valid) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    row_max(in<T>(l), out<T>(m), rows, v, valid_columns(v, offset, valid));
  });
}

void lf_sum_exp(lf_rank *c, const char *what, const void *l, const void *m, void *z, int64_t rows, int64_t v,
                int64_t offset, int64_t valid) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    sum_exp(in<T>(l), in<T>(m), out<T>(z), rows, v, valid_columns(v, offset, valid));
  });
}

void lf_pick(lf_rank *c, const char *what, const void *l, const int32_t *labels, void *t, int64_t rows, int64_t v,
             int64_t offset) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    pick(in<T>(l), labels, out<T>(t), rows, v, offset);
  });
}

void lf_nll(lf_rank *c, const char *what, const void *z, const void *m, const void *t, const int32_t *labels, void *y,
            int64_t rows) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    nll(in<T>(z), in<T>(m), in<T>(t), labels, out<T>(y), rows);
  });
}

void lf_cross_entropy_grad(lf_rank *c, const char *what, const void *l, const void *m, const void *z,
                           const int32_t *labels, const void *g, void *dl, int64_t rows, int64_t v, int64_t offset,
                           int64_t valid) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    cross_entropy_grad(in<T>(l), in<T>(m), in<T>(z), labels, in<T>(g), out<T>(dl), rows, v, offset,
                       valid_columns(v, offset, valid));
  });
}
