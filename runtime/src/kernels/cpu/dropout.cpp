// dropout.cpp - dropout whose mask is a function of the element's place in the whole model and step.
//
// Idea: four channels share one call of Philox (kernels/dropout_key.h).
#include "kernels/cpu/real.h"
#include "kernels/dropout_key.h"

#include <algorithm>

using namespace lf::rt;

namespace {

template <class T>
LF_INLINE void drop_row(const T *__restrict x, T *__restrict y, int64_t h, int64_t h_offset, uint32_t pos,
                        uint64_t sample, PhiloxKey key, uint32_t threshold, T scale) {
  const int64_t end = h_offset + h;
  for (int64_t quad = h_offset / 4; quad * 4 < end; ++quad) {
    const PhiloxCounter words = philox(
        {static_cast<uint32_t>(quad), pos, static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)}, key);
    const int64_t last = std::min(end, quad * 4 + 4);
    for (int64_t channel = std::max(h_offset, quad * 4); channel < last; ++channel) {
      const int64_t i = channel - h_offset;
      y[i] = words[static_cast<size_t>(channel & 3)] < threshold ? T(0) : x[i] * scale;
    }
  }
}

} // namespace

void lf_dropout(lf_rank *c, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b,
                int64_t h, double p, int32_t site, int64_t b_offset, int64_t h_offset) {
  if (!(p >= 0.0 && p < 1.0))
    throw Failure{2, std::string("\"") + what + "\": expected a dropout probability in [0, 1), got " +
                         std::to_string(p) + "; mend --hidden-dropout"};
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    const PhiloxKey key = key_of_use(c, site);
    const uint32_t threshold = static_cast<uint32_t>(p * 4294967296.0);
    const T scale = static_cast<T>(1.0 / (1.0 - p));
    const int64_t first = first_sample(c, b_offset);
    for (int64_t i = 0; i < s; ++i)
      for (int64_t j = 0; j < b; ++j)
        drop_row(in<T>(x) + (i * b + j) * h, out<T>(y) + (i * b + j) * h, h, h_offset, static_cast<uint32_t>(pos[i]),
                 static_cast<uint64_t>(first + j), key, threshold, scale);
  });
}
