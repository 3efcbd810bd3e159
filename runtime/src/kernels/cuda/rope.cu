// rope.cu - rotary position embedding, halves convention.
//
// Idea: one block a position; it computes its cosines and sines in double once and turns all heads of all samples.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

constexpr int64_t most_half = 256;

struct Frequencies {
  double inverse[most_half];
};

__global__ void rotate(const Real *x, const int32_t *pos, Real *y, int64_t rows, int64_t half, Frequencies f,
                       double scale, Real sign) {
  __shared__ Real cosines[most_half], sines[most_half];
  for (int64_t j = threadIdx.x; j < half; j += block_threads) {
    const double angle = static_cast<double>(pos[blockIdx.x]) * f.inverse[j];
    cosines[j] = static_cast<Real>(cos(angle) * scale);
    sines[j] = sign * static_cast<Real>(sin(angle) * scale);
  }
  __syncthreads();
  x += blockIdx.x * rows * 2 * half;
  y += blockIdx.x * rows * 2 * half;
  for (int64_t i = threadIdx.x; i < rows * half; i += block_threads) {
    const int64_t j = i % half, at = i / half * 2 * half + j;
    const Real first = x[at], second = x[at + half];
    y[at] = first * cosines[j] - second * sines[j];
    y[at + half] = second * cosines[j] + first * sines[j];
  }
}

} // namespace

void lf_rope(lf_rank *c, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b,
             int64_t heads, int64_t d, const double *inv_freq, double scale, int32_t inverse) {
  const int64_t half = d / 2;
  if (half > most_half)
    throw Failure{2, std::string("\"") + what + "\": expected a head dim of at most " + std::to_string(2 * most_half) +
                         " on cuda, got " + std::to_string(d)};
  if (s <= 0)
    return;
  Frequencies f{};
  std::copy(inv_freq, inv_freq + half, f.inverse);
  rotate<<<static_cast<unsigned>(s), block_threads, 0, cuda(c).compute()>>>(in(x), pos, out(y), b * heads, half, f,
                                                                            scale, Real(inverse ? -1 : 1));
  LF_LAUNCHED(what);
}
