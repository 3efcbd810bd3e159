// rope.cpp - rotary position embedding, halves convention.
//
// Idea: cosines and sines are computed in double once for a list of positions and kept by the thread, since queries and
// keys of every layer and micro-batch use the same ones.
#include "kernels/cpu/real.h"

#include <algorithm>
#include <cmath>

using namespace lf::rt;

namespace {

template <class T> struct Table {
  std::vector<int32_t> positions;
  std::vector<double> frequencies;
  double scale = 0.0;
  std::vector<T> cosines, sines; ///< [s, d / 2]

  void prepare(const int32_t *pos, int64_t s, const double *inv_freq, int64_t half, double wanted_scale) {
    if (scale == wanted_scale && std::equal(positions.begin(), positions.end(), pos, pos + s) &&
        std::equal(frequencies.begin(), frequencies.end(), inv_freq, inv_freq + half))
      return;
    positions.assign(pos, pos + s);
    frequencies.assign(inv_freq, inv_freq + half);
    scale = wanted_scale;
    cosines.resize(static_cast<size_t>(s * half));
    sines.resize(static_cast<size_t>(s * half));
    for (int64_t i = 0; i < s; ++i)
      for (int64_t j = 0; j < half; ++j) {
        const double angle = static_cast<double>(pos[i]) * inv_freq[j];
        cosines[static_cast<size_t>(i * half + j)] = static_cast<T>(std::cos(angle) * scale);
        sines[static_cast<size_t>(i * half + j)] = static_cast<T>(std::sin(angle) * scale);
      }
  }
};

template <class T>
LF_INLINE void rotate(const T *__restrict x, T *__restrict y, const T *__restrict cosine, const T *__restrict sine,
                      T sign, int64_t rows, int64_t half) {
  for (int64_t i = 0; i < rows; ++i, x += 2 * half, y += 2 * half)
    for (int64_t j = 0; j < half; ++j) {
      const T first = x[j], second = x[half + j], turn = sign * sine[j];
      y[j] = first * cosine[j] - second * turn;
      y[half + j] = second * cosine[j] + first * turn;
    }
}

} // namespace

void lf_rope(lf_rank *c, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b,
             int64_t heads, int64_t d, const double *inv_freq, double scale, int32_t inverse) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    const int64_t half = d / 2, rows = b * heads;
    thread_local Table<T> table;
    table.prepare(pos, s, inv_freq, half, scale);
    for (int64_t i = 0; i < s; ++i)
      rotate(in<T>(x) + i * rows * d, out<T>(y) + i * rows * d, table.cosines.data() + i * half,
             table.sines.data() + i * half, T(inverse ? -1 : 1), rows, half);
  });
}
