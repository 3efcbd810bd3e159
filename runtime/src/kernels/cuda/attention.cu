// attention.cu - causal and windowed attention with grouped queries, in tiles with a running softmax.
//
// Idea: see attention.cuh; the block owns queries and meets tiles of keys. Never holds an s x t array.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cudnn_attention.h"

using namespace lf::rt;

namespace {

template <int parts, class T>
__global__ void __launch_bounds__(warps *warp_threads) forward(AttentionShape n, const T *q, const T *k, const T *v,
                                                               const int32_t *pq, const int32_t *pk, T *o, float *lse) {
  extern __shared__ float memory[];
  const int d = static_cast<int>(n.d), pitch = d + 1;
  float *queries = memory, *keys = memory + owned * d; // [owned][d], [tile][pitch]: keys, then values
  const int warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  const int64_t blocks = (n.s + owned - 1) / owned, head = blockIdx.x / blocks, first = blockIdx.x % blocks * owned;
  const int64_t mine = first + warp * rows_per_warp;
  q += head * d;
  k += head / n.r * d;
  v += head / n.r * d;
  load_rows(queries, d, q, first, owned, n.s, n.query_stride(), d);
  const Range here = position_range(pq, first, owned, n.s);
  int32_t place[rows_per_warp];
  float top[rows_per_warp], total[rows_per_warp], sum[rows_per_warp][parts];
  for (int i = 0; i < rows_per_warp; ++i) {
    place[i] = mine + i < n.s ? pq[mine + i] : 0;
    top[i] = -INFINITY;
    total[i] = 0.0f;
    for (int e = 0; e < parts; ++e)
      sum[i][e] = 0.0f;
  }

  for (int64_t j = 0; j < n.t; j += tile) {
    if (all_hidden(here, position_range(pk, j, tile, n.t), n.window))
      continue;
    const bool exists = j + lane < n.t;
    const int32_t key = exists ? pk[j + lane] : 0;
    __syncthreads(); // the values of the tile before have been read
    load_rows(keys, pitch, k, j, tile, n.t, n.key_stride(), d);
    __syncthreads();
    float score[rows_per_warp];
    dots(queries + warp * rows_per_warp * d, keys, pitch, d, score);
    __syncthreads();
    load_rows(keys, pitch, v, j, tile, n.t, n.key_stride(), d);
    __syncthreads();
    for (int i = 0; i < rows_per_warp; ++i) {
      const float x = exists && visible(place[i], key, n.window) ? score[i] * n.scale : -INFINITY;
      const float best = Larger()(top[i], warp_reduce(x, Larger()));
      if (best == -INFINITY) { // no key so far: e^(-inf - -inf) is not a number
        score[i] = 0.0f;
        continue;
      }
      score[i] = expf(x - best);
      const float shrink = expf(top[i] - best);
      total[i] = total[i] * shrink + warp_reduce(score[i], Add());
      for (int e = 0; e < parts; ++e)
        sum[i][e] *= shrink;
      top[i] = best;
    }
    weigh(score, keys, pitch, d, sum);
  }

  float inverse[rows_per_warp];
  for (int i = 0; i < rows_per_warp; ++i) {
    inverse[i] = total[i] > 0.0f ? 1.0f / total[i] : 0.0f;
    if (lane == 0 && mine + i < n.s)
      lse[(mine + i) * n.heads() + head] = total[i] > 0.0f ? top[i] + logf(total[i]) : -INFINITY;
  }
  store_rows(o + head * d, mine, n.s, n.query_stride(), d, sum, inverse);
}

} // namespace

void lf_attention(lf_rank *c, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                  const int32_t *pk, void *o, void *lse, int64_t s, int64_t t, int64_t b, int64_t g, int64_t r,
                  int64_t d, double scale, int64_t window) {
  const AttentionShape n{s, t, b, g, r, d, static_cast<float>(scale), window};
  if (whole_sequence(c, n, pq, pk) && cudnn_attention(c, what, n, q, k, v, o, lse))
    return;
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    with_parts(what, d, [&](auto parts) {
      launch_attention(c, what, forward<decltype(parts)::value, T>, (s + owned - 1) / owned * n.heads(),
                       owned * d + tile * (d + 1), n, in<T>(q), in<T>(k), in<T>(v), pq, pk, out<T>(o), out<float>(lse));
    });
  });
}
