// attention.cuh - what forward and backward of attention share: tiles, masks, and the loading of rows.
//
// Idea: a block of four warps owns 16 rows, four a warp; it meets tiles of 32 rows of the other side, one a lane. A
// score belongs to one lane; sums over the tile pass from lane to lane by shuffles. Nothing is summed by two blocks, so
// the order of every sum is fixed. Reals are floats in shared memory and registers.
#pragma once

#include "kernels/cuda/attention_shape.h"
#include "kernels/cuda/launch.cuh"

namespace lf::rt {

constexpr int tile = warp_threads, warps = 4, rows_per_warp = 4, owned = warps * rows_per_warp;
constexpr int most_dim = 256;

struct Range {
  int32_t lowest, highest;
};

/// Positions of rows [first, first + count), as far as there are any; count is at most 32. For whole warps.
__device__ inline Range position_range(const int32_t *pos, int64_t first, int count, int64_t end) {
  const int lane = threadIdx.x % warp_threads;
  const bool mine = lane < count && first + lane < end;
  return {warp_reduce(mine ? pos[first + lane] : INT32_MAX, Smaller()),
          warp_reduce(mine ? pos[first + lane] : INT32_MIN, Larger())};
}

/// True when no query of one range sees a key of the other.
__device__ inline bool all_hidden(Range q, Range k, int64_t window) {
  return k.lowest > q.highest || (window > 0 && int64_t(q.lowest) - k.highest >= window);
}

__device__ inline bool visible(int32_t q, int32_t k, int64_t window) {
  return k <= q && (window <= 0 || int64_t(q) - k < window);
}

/// to[i][e] = from[(first + i) * stride + e] for `count` rows of d, zero beyond `end`; rows of `to` are `pitch` apart.
template <class T>
__device__ void load_rows(float *to, int pitch, const T *from, int64_t first, int count, int64_t end, int64_t stride,
                          int d) {
  for (int i = threadIdx.x; i < count * d; i += warps * warp_threads) {
    const int row = i / d, e = i % d;
    to[row * pitch + e] = first + row < end ? to_float(from[(first + row) * stride + e]) : 0.0f;
  }
}

/// dot[i] = sum over e of mine[i][e] other[lane][e], for the warp's rows.
__device__ inline void dots(const float *mine, const float *other, int pitch, int d, float (&dot)[rows_per_warp]) {
  const float *row = other + threadIdx.x % warp_threads * pitch;
  for (int i = 0; i < rows_per_warp; ++i)
    dot[i] = 0.0f;
  for (int e = 0; e < d; ++e) {
    const float x = row[e];
    for (int i = 0; i < rows_per_warp; ++i)
      dot[i] += mine[i * d + e] * x;
  }
}

/// sum[i][k] += sum over lanes j of weight[i] of lane j times other[j][lane + 32 k].
template <int parts>
__device__ void weigh(const float (&weight)[rows_per_warp], const float *other, int pitch, int d,
                      float (&sum)[rows_per_warp][parts]) {
  const int lane = threadIdx.x % warp_threads;
  for (int j = 0; j < tile; ++j) {
    float w[rows_per_warp];
    for (int i = 0; i < rows_per_warp; ++i)
      w[i] = __shfl_sync(0xffffffffu, weight[i], j);
    for (int k = 0; k < parts; ++k) {
      const int e = lane + warp_threads * k;
      const float x = e < d ? other[j * pitch + e] : 0.0f;
      for (int i = 0; i < rows_per_warp; ++i)
        sum[i][k] += w[i] * x;
    }
  }
}

/// to[(first + i) * stride + e] = sum[i][..] * factor[i] for the warp's rows below `end`.
template <class T, int parts>
__device__ void store_rows(T *to, int64_t first, int64_t end, int64_t stride, int d,
                           const float (&sum)[rows_per_warp][parts], const float (&factor)[rows_per_warp]) {
  const int lane = threadIdx.x % warp_threads;
  for (int i = 0; i < rows_per_warp; ++i)
    for (int k = 0; k < parts; ++k)
      if (const int e = lane + warp_threads * k; first + i < end && e < d)
        to[(first + i) * stride + e] = to_real<T>(sum[i][k] * factor[i]);
}

/// True when the mask is causal over positions 0 .. s - 1 of a bfloat16 program, as cudnn_attention.h wants it: queries
/// and keys then have one array of positions, where a split sequence has two.
inline bool whole_sequence(const lf_rank *c, const AttentionShape &n, const int32_t *pq, const int32_t *pk) {
  return c->program->dtype == LF_BF16 && pq == pk && n.s == n.t && n.s > 0 && n.heads() > 0;
}

/// Calls body(integral constant parts) with 32 parts >= d.
template <class Body> void with_parts(const char *what, int64_t d, Body &&body) {
  if (d > most_dim)
    throw Failure{2, std::string("\"") + what + "\": expected a head dim of at most " + std::to_string(most_dim) +
                         " on cuda, got " + std::to_string(d)};
  if (d <= 64)
    body(std::integral_constant<int, 2>());
  else if (d <= 128)
    body(std::integral_constant<int, 4>());
  else
    body(std::integral_constant<int, 8>());
}

/// Launches `blocks` blocks with `floats` of shared memory, which may be more than a kernel has by default.
template <class Kernel, class... Arguments>
void launch_attention(lf_rank *c, const char *what, Kernel kernel, int64_t blocks, int64_t floats,
                      Arguments... arguments) {
  if (blocks <= 0)
    return;
  const size_t bytes = static_cast<size_t>(floats) * sizeof(float);
  LF_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  kernel<<<static_cast<unsigned>(blocks), warps * warp_threads, bytes, cuda(c).compute()>>>(arguments...);
  LF_LAUNCHED(what);
}

} // namespace lf::rt
