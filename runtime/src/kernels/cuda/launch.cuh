// launch.cuh - starting kernels on a rank's compute stream, and sums inside a block.
//
// Idea: an element-wise kernel is a lambda; a sum is a tree whose shape depends on sizes alone, so that a run repeats
// its bits. Invariant: no atomics on real numbers anywhere in kernels/cuda.
#pragma once

#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <cstdint>

namespace lf::rt {

using Real = float;
constexpr int block_threads = 256, warp_threads = 32;

inline const Real *in(const void *p) { return static_cast<const Real *>(p); }
inline Real *out(void *p) { return static_cast<Real *>(p); }

template <class F> __global__ void for_each_kernel(int64_t count, F f) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x)
    f(i);
}

/// f(i) for i in [0, count), in any order.
template <class F> void for_each(lf_rank *c, const char *what, int64_t count, F f) {
  if (count <= 0)
    return;
  const int64_t blocks = std::min<int64_t>((count + block_threads - 1) / block_threads, 4096);
  for_each_kernel<<<static_cast<unsigned>(blocks), block_threads, 0, cuda(c).compute()>>>(count, f);
  LF_LAUNCHED(what);
}

template <class F> __global__ void for_rows_kernel(F f) { f(int64_t(blockIdx.x)); }

/// f(row) by a block of block_threads threads for each row.
template <class F> void for_rows(lf_rank *c, const char *what, int64_t rows, F f) {
  for_rows_kernel<<<static_cast<unsigned>(rows), block_threads, 0, cuda(c).compute()>>>(f);
  LF_LAUNCHED(what);
}

template <class T, class Op> __device__ T warp_reduce(T value, Op op) {
  for (int half = warp_threads / 2; half > 0; half /= 2)
    value = op(value, __shfl_xor_sync(0xffffffffu, value, half));
  return value;
}

/// The same result on all threads of a block of block_threads.
template <class T, class Op> __device__ T block_reduce(T value, Op op) {
  __shared__ T parts[block_threads / warp_threads];
  value = warp_reduce(value, op);
  __syncthreads(); // `parts` of an earlier call has been read
  if (threadIdx.x % warp_threads == 0)
    parts[threadIdx.x / warp_threads] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < block_threads / warp_threads; ++i)
    value = op(value, parts[i]);
  return value;
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

/// Sum of term(j) over j in [0, count), in double, on all threads of the block.
template <class Term> __device__ double block_sum(int64_t count, Term term) {
  double sum = 0.0;
  for (int64_t j = threadIdx.x; j < count; j += block_threads)
    sum += static_cast<double>(term(j));
  return block_reduce(sum, Add());
}

// ---- Sums over rows -----------------------------------------------------------------------------------------------

constexpr int column_lanes = 8, column_chunks = 64;

/// Columns j of chunk blockIdx.y of the rows, summed in double.
template <class Term>
__global__ void column_parts(int64_t rows, int64_t cols, int64_t chunk, Term term, double *parts) {
  __shared__ double lanes[column_lanes][warp_threads];
  const int64_t j = int64_t(blockIdx.x) * warp_threads + threadIdx.x, begin = int64_t(blockIdx.y) * chunk;
  const int64_t end = begin + chunk < rows ? begin + chunk : rows;
  double sum = 0.0;
  if (j < cols)
    for (int64_t i = begin + threadIdx.y; i < end; i += column_lanes)
      sum += static_cast<double>(term(i, j));
  lanes[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y || j >= cols)
    return;
  for (int k = 1; k < column_lanes; ++k)
    sum += lanes[k][threadIdx.x];
  parts[blockIdx.y * cols + j] = sum;
}

/// Doubles of scratch that column_sums needs.
inline int64_t column_scratch(int64_t cols) { return column_chunks * cols; }

/// y[j] = sum over i of term(i, j), in double, rounded once.
template <class Term>
void column_sums(lf_rank *c, const char *what, int64_t rows, int64_t cols, Term term, Real *y, double *scratch) {
  if (cols <= 0)
    return;
  const int64_t chunks = std::clamp<int64_t>((rows + 63) / 64, 1, column_chunks), chunk = (rows + chunks - 1) / chunks;
  const dim3 grid(static_cast<unsigned>((cols + warp_threads - 1) / warp_threads), static_cast<unsigned>(chunks));
  column_parts<<<grid, dim3(warp_threads, column_lanes), 0, cuda(c).compute()>>>(rows, cols, chunk, term, scratch);
  LF_LAUNCHED(what);
  for_each(c, what, cols, [=] __device__(int64_t j) {
    double sum = 0.0;
    for (int64_t k = 0; k < chunks; ++k)
      sum += scratch[k * cols + j];
    y[j] = static_cast<Real>(sum);
  });
}

} // namespace lf::rt
