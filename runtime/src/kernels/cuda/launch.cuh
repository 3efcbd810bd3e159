// launch.cuh - starting kernels on a rank's compute stream, and sums inside a block.
//
// Idea: a sum is a tree whose shape depends on sizes alone, so that a run repeats its bits. Invariant: no atomics on
// real numbers anywhere in kernels/cuda.
#pragma once

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/real.cuh"

#include <algorithm>
#include <cstdint>

namespace lf::rt {

constexpr int block_threads = 256, warp_threads = 32;

template <class F> __global__ void for_each_kernel(int64_t count, F f) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    f(i);
}

/// Blocks of block_threads threads for `count` pieces of work, of which a thread may do several.
inline unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>(std::clamp<int64_t>((count + block_threads - 1) / block_threads, 1, 8192));
}

/// f(i) for i in [0, count), in any order.
template <class F> void for_each(lf_rank *c, const char *what, int64_t count, F f) {
  if (count <= 0)
    return;
  for_each_kernel<<<blocks_for(count), block_threads, 0, cuda(c).compute()>>>(count, f);
  LF_LAUNCHED(what);
}

template <class F> __global__ void for_rows_kernel(F f) { f(int64_t(blockIdx.x)); }

/// f(row) by a block of block_threads threads for each row.
template <class F> void for_rows(lf_rank *c, const char *what, int64_t rows, F f) {
  for_rows_kernel<<<static_cast<unsigned>(rows), block_threads, 0, cuda(c).compute()>>>(f);
  LF_LAUNCHED(what);
}

/// Threads for a row of `cols` elements of which a thread takes four times `width` at a time: whole warps.
inline int row_threads(int64_t cols, int width, int most = 1024) {
  const int64_t each = int64_t(4) * width * warp_threads;
  return static_cast<int>(std::clamp<int64_t>((cols + each - 1) / each * warp_threads, warp_threads, most));
}

/// body(j, x) for the packs x = row[j .. j + width) of this thread; a pack begins below `cols`.
template <int width, class T, class Body> __device__ void for_packs(const T *row, int64_t cols, Body body) {
#pragma unroll 4
  for (int64_t j = int64_t(threadIdx.x) * width; j < cols; j += int64_t(blockDim.x) * width) {
    float x[width];
    load(row + j, x);
    body(j, x);
  }
}

struct Add {
  template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Larger {
  template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Smaller {
  template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; }
};

template <class T, class Op> __device__ T warp_reduce(T value, Op op) {
  for (int half = warp_threads / 2; half > 0; half /= 2)
    value = op(value, __shfl_xor_sync(0xffffffffu, value, half));
  return value;
}

/// Each value[i] becomes its reduction over the block (of whole warps, 1024 threads at most), on all threads alike.
template <class T, int n, class Op> __device__ void block_reduce(T (&value)[n], Op op) {
  __shared__ T parts[n][warp_threads];
  const int warps = static_cast<int>(blockDim.x) / warp_threads;
#pragma unroll
  for (int i = 0; i < n; ++i)
    value[i] = warp_reduce(value[i], op);
  if (warps == 1)
    return;        // a butterfly leaves the result on every lane
  __syncthreads(); // `parts` of an earlier call has been read
  if (threadIdx.x % warp_threads == 0)
    for (int i = 0; i < n; ++i)
      parts[i][threadIdx.x / warp_threads] = value[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < n; ++i) {
    value[i] = parts[i][0];
    for (int w = 1; w < warps; ++w)
      value[i] = op(value[i], parts[i][w]);
  }
}

template <class T, class Op> __device__ T block_reduce(T value, Op op) {
  T one[1] = {value};
  block_reduce(one, op);
  return one[0];
}

/// Sum of term(j) over j in [0, count), in double, on all threads of the block.
template <class Term> __device__ double block_sum(int64_t count, Term term) {
  double sum = 0.0;
#pragma unroll 8
  for (int64_t j = threadIdx.x; j < count; j += blockDim.x)
    sum += static_cast<double>(term(j));
  return block_reduce(sum, Add());
}

} // namespace lf::rt
