// rope.cu - rotary position embedding, halves convention.
//
// Idea: one block a position; it computes its cosines and sines in double once and turns all heads of all samples.
// Floor: x and y, once.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

constexpr int64_t most_half = 256;

struct Frequencies {
  double inverse[most_half];
};

template <int width, class T>
__global__ void rotate(const T *x, const int32_t *pos, T *y, uint32_t rows, uint32_t half, Frequencies f, double scale,
                       float sign) {
  __shared__ __align__(16) float cosines[most_half], sines[most_half];
  for (uint32_t j = threadIdx.x; j < half; j += block_threads) {
    const double angle = static_cast<double>(pos[blockIdx.x]) * f.inverse[j];
    cosines[j] = static_cast<float>(cos(angle) * scale);
    sines[j] = sign * static_cast<float>(sin(angle) * scale);
  }
  __syncthreads();
  x += blockIdx.x * int64_t(rows) * 2 * half;
  y += blockIdx.x * int64_t(rows) * 2 * half;
  const uint32_t packs = half / width; // of half a head
#pragma unroll 2
  for (uint32_t i = threadIdx.x; i < rows * packs; i += block_threads) {
    const uint32_t j = i % packs * width, at = i / packs * 2 * half + j;
    float first[width], second[width], cosine[width], sine[width], low[width], high[width];
    load(x + at, first);
    load(x + at + half, second);
    load(cosines + j, cosine);
    load(sines + j, sine);
#pragma unroll
    for (int e = 0; e < width; ++e) {
      low[e] = first[e] * cosine[e] - second[e] * sine[e];
      high[e] = second[e] * cosine[e] + first[e] * sine[e];
    }
    store(y + at, low);
    store(y + at + half, high);
  }
}

template <class T>
void rope(lf_rank *c, const char *what, const T *x, const int32_t *pos, T *y, int64_t s, int64_t rows, int64_t half,
          const Frequencies &f, double scale, float sign) {
  cudaStream_t stream = cuda(c).compute();
  const unsigned blocks = static_cast<unsigned>(s);
  const uint32_t heads = static_cast<uint32_t>(rows), pairs = static_cast<uint32_t>(half);
  if (half % wide == 0 && aligned(x, y))
    rotate<wide><<<blocks, block_threads, 0, stream>>>(x, pos, y, heads, pairs, f, scale, sign);
  else
    rotate<1><<<blocks, block_threads, 0, stream>>>(x, pos, y, heads, pairs, f, scale, sign);
  LF_LAUNCHED(what);
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
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    rope(c, what, in<T>(x), pos, out<T>(y), s, b * heads, half, f, scale, inverse ? -1.0f : 1.0f);
  });
}
