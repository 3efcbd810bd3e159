// dropout.cu - dropout whose mask is a function of the element's place in the whole model and step.
//
// Idea: the keys and counters of kernels/dropout_key.h, so that every device and plan sees the same mask.
#include "kernels/cuda/launch.cuh"
#include "kernels/dropout_key.h"

using namespace lf::rt;

namespace {

template <class T>
void drop(lf_rank *c, const char *what, const T *x, const int32_t *pos, T *y, int64_t s, int64_t b, int64_t h, double p,
          int32_t site, int64_t b_offset, int64_t h_offset) {
  cuda(c).host_decides("the mask of dropout is made from the number of the step");
  const PhiloxKey key = key_of_use(c, site);
  const uint32_t threshold = static_cast<uint32_t>(p * 4294967296.0);
  const float scale = static_cast<float>(1.0 / (1.0 - p));
  const int64_t first = first_sample(c, b_offset);
  const int64_t begin = h_offset / 4, quads = (h_offset + h + 3) / 4 - begin;
  for_each(c, what, s * b * quads, [=] __device__(int64_t i) {
    const int64_t row = i / quads, quad = begin + i % quads;
    const uint64_t sample = static_cast<uint64_t>(first + row % b);
    const PhiloxCounter words = philox({static_cast<uint32_t>(quad), static_cast<uint32_t>(pos[row / b]),
                                        static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)},
                                       key);
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t channel = quad * 4 + k - h_offset;
      if (channel >= 0 && channel < h)
        y[row * h + channel] = to_real<T>(words[k] < threshold ? 0.0f : to_float(x[row * h + channel]) * scale);
    }
  });
}

} // namespace

void lf_dropout(lf_rank *c, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b,
                int64_t h, double p, int32_t site, int64_t b_offset, int64_t h_offset) {
  if (!(p >= 0.0 && p < 1.0))
    throw Failure{2, std::string("\"") + what + "\": expected a dropout probability in [0, 1), got " +
                         std::to_string(p) + "; mend --hidden-dropout"};
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    drop(c, what, in<T>(x), pos, out<T>(y), s, b, h, p, site, b_offset, h_offset);
  });
}
