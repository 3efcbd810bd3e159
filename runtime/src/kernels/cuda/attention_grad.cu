// attention_grad.cu - the gradient of attention, in tiles, without atomics.
//
// Idea: probabilities are rebuilt from lse; dq by blocks that own queries, dk and dv by blocks that own keys and pass
// over the queries of all heads of their group.
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cudnn_attention.h"

using namespace lf::rt;

namespace {

/// delta[row] = sum over e of o[row][e] d_o[row][e]; one warp a row.
template <class T> __global__ void row_dots(const T *o, const T *d_o, float *delta, int64_t rows, int64_t d) {
  const int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / warp_threads;
  if (row >= rows)
    return;
  double sum = 0.0;
  for (int64_t e = threadIdx.x % warp_threads; e < d; e += warp_threads)
    sum += static_cast<double>(to_float(o[row * d + e])) * static_cast<double>(to_float(d_o[row * d + e]));
  sum = warp_reduce(sum, Add());
  if (threadIdx.x % warp_threads == 0)
    delta[row] = static_cast<float>(sum);
}

/// From a score and the slope of its probability: the probability, and (in `slope`) the slope of the score.
__device__ float rebuild(bool seen, float score, float norm, float delta, float &slope) {
  const float p = seen && norm != -INFINITY ? expf(score - norm) : 0.0f;
  slope = p * (slope - delta);
  return p;
}

template <int parts, class T>
__global__ void __launch_bounds__(warps *warp_threads)
    query_gradient(AttentionShape n, const T *q, const T *k, const T *v, const int32_t *pq, const int32_t *pk,
                   const float *lse, const float *delta, const T *d_o, T *dq) {
  extern __shared__ float memory[];
  const int d = static_cast<int>(n.d), pitch = d + 1;
  float *queries = memory, *slopes = queries + owned * d, *keys = slopes + owned * d, *values = keys + tile * pitch;
  const int warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  const int64_t blocks = (n.s + owned - 1) / owned, head = blockIdx.x / blocks, first = blockIdx.x % blocks * owned;
  const int64_t mine = first + warp * rows_per_warp;
  load_rows(queries, d, q + head * d, first, owned, n.s, n.query_stride(), d);
  load_rows(slopes, d, d_o + head * d, first, owned, n.s, n.query_stride(), d);
  const Range here = position_range(pq, first, owned, n.s);
  int32_t place[rows_per_warp];
  float norm[rows_per_warp], pull[rows_per_warp], factor[rows_per_warp], sum[rows_per_warp][parts];
  for (int i = 0; i < rows_per_warp; ++i) {
    const bool exists = mine + i < n.s;
    place[i] = exists ? pq[mine + i] : 0;
    norm[i] = exists ? lse[(mine + i) * n.heads() + head] : -INFINITY;
    pull[i] = exists ? delta[(mine + i) * n.heads() + head] : 0.0f;
    factor[i] = n.scale;
    for (int e = 0; e < parts; ++e)
      sum[i][e] = 0.0f;
  }

  for (int64_t j = 0; j < n.t; j += tile) {
    if (all_hidden(here, position_range(pk, j, tile, n.t), n.window))
      continue;
    const bool exists = j + lane < n.t;
    const int32_t key = exists ? pk[j + lane] : 0;
    __syncthreads();
    load_rows(keys, pitch, k + head / n.r * d, j, tile, n.t, n.key_stride(), d);
    load_rows(values, pitch, v + head / n.r * d, j, tile, n.t, n.key_stride(), d);
    __syncthreads();
    float score[rows_per_warp], slope[rows_per_warp];
    dots(queries + warp * rows_per_warp * d, keys, pitch, d, score);
    dots(slopes + warp * rows_per_warp * d, values, pitch, d, slope);
    for (int i = 0; i < rows_per_warp; ++i)
      rebuild(exists && visible(place[i], key, n.window), score[i] * n.scale, norm[i], pull[i], slope[i]);
    weigh(slope, keys, pitch, d, sum);
  }
  store_rows(dq + head * d, mine, n.s, n.query_stride(), d, sum, factor);
}

template <int parts, class T>
__global__ void __launch_bounds__(warps *warp_threads)
    key_gradient(AttentionShape n, const T *q, const T *k, const T *v, const int32_t *pq, const int32_t *pk,
                 const float *lse, const float *delta, const T *d_o, T *dk, T *dv) {
  extern __shared__ float memory[];
  const int d = static_cast<int>(n.d), pitch = d + 1;
  float *keys = memory, *values = keys + owned * d, *queries = values + owned * d, *slopes = queries + tile * pitch;
  const int warp = threadIdx.x / warp_threads, lane = threadIdx.x % warp_threads;
  const int64_t blocks = (n.t + owned - 1) / owned, group = blockIdx.x / blocks, first = blockIdx.x % blocks * owned;
  const int64_t mine = first + warp * rows_per_warp;
  load_rows(keys, d, k + group * d, first, owned, n.t, n.key_stride(), d);
  load_rows(values, d, v + group * d, first, owned, n.t, n.key_stride(), d);
  const Range here = position_range(pk, first, owned, n.t);
  int32_t place[rows_per_warp];
  float key_factor[rows_per_warp], one[rows_per_warp], key_sum[rows_per_warp][parts], value_sum[rows_per_warp][parts];
  for (int i = 0; i < rows_per_warp; ++i) {
    place[i] = mine + i < n.t ? pk[mine + i] : 0;
    key_factor[i] = n.scale;
    one[i] = 1.0f;
    for (int e = 0; e < parts; ++e)
      key_sum[i][e] = value_sum[i][e] = 0.0f;
  }

  for (int64_t head = group * n.r; head < (group + 1) * n.r; ++head)
    for (int64_t j = 0; j < n.s; j += tile) {
      if (all_hidden(position_range(pq, j, tile, n.s), here, n.window))
        continue;
      const bool exists = j + lane < n.s;
      const int32_t query = exists ? pq[j + lane] : 0;
      const float norm = exists ? lse[(j + lane) * n.heads() + head] : -INFINITY;
      const float pull = exists ? delta[(j + lane) * n.heads() + head] : 0.0f;
      __syncthreads();
      load_rows(queries, pitch, q + head * d, j, tile, n.s, n.query_stride(), d);
      load_rows(slopes, pitch, d_o + head * d, j, tile, n.s, n.query_stride(), d);
      __syncthreads();
      float score[rows_per_warp], slope[rows_per_warp];
      dots(keys + warp * rows_per_warp * d, queries, pitch, d, score);
      dots(values + warp * rows_per_warp * d, slopes, pitch, d, slope);
      for (int i = 0; i < rows_per_warp; ++i) {
        const bool seen = exists && mine + i < n.t && visible(query, place[i], n.window);
        score[i] = rebuild(seen, score[i] * n.scale, norm, pull, slope[i]);
      }
      weigh(score, slopes, pitch, d, value_sum);
      weigh(slope, queries, pitch, d, key_sum);
    }
  store_rows(dk + group * d, mine, n.t, n.key_stride(), d, key_sum, key_factor);
  store_rows(dv + group * d, mine, n.t, n.key_stride(), d, value_sum, one);
}

template <class T>
void by_blocks(lf_rank *c, const char *what, const AttentionShape &n, const T *q, const T *k, const T *v,
               const int32_t *pq, const int32_t *pk, const T *o, const float *lse, const T *d_o, T *dq, T *dk, T *dv) {
  const int64_t rows = n.s * n.heads();
  float *delta = cuda(c).scratch<float>(rows);
  if (rows > 0) {
    constexpr int64_t rows_per_block = block_threads / warp_threads;
    row_dots<<<static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block), block_threads, 0,
               cuda(c).compute()>>>(o, d_o, delta, rows, n.d);
    LF_LAUNCHED(what);
  }
  const float *pull = delta;
  with_parts(what, n.d, [&](auto parts) {
    const int64_t floats = 2 * owned * n.d + 2 * tile * (n.d + 1);
    launch_attention(c, what, query_gradient<decltype(parts)::value, T>, (n.s + owned - 1) / owned * n.heads(), floats,
                     n, q, k, v, pq, pk, lse, pull, d_o, dq);
    launch_attention(c, what, key_gradient<decltype(parts)::value, T>, (n.t + owned - 1) / owned * n.b * n.g, floats, n,
                     q, k, v, pq, pk, lse, pull, d_o, dk, dv);
  });
}

} // namespace

void lf_attention_grad(lf_rank *c, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                       const int32_t *pk, const void *o, const void *lse, const void *d_o, void *dq, void *dk, void *dv,
                       int64_t s, int64_t t, int64_t b, int64_t g, int64_t r, int64_t d, double scale, int64_t window) {
  const AttentionShape n{s, t, b, g, r, d, static_cast<float>(scale), window};
  if (whole_sequence(c, n, pq, pk) && cudnn_attention_grad(c, what, n, q, k, v, o, lse, d_o, dq, dk, dv))
    return;
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    by_blocks(c, what, n, in<T>(q), in<T>(k), in<T>(v), pq, pk, in<T>(o), in<float>(lse), in<T>(d_o), out<T>(dq),
              out<T>(dk), out<T>(dv));
  });
}
