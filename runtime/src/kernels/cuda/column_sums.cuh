// column_sums.cuh - sums over the rows of an array, one for each column.
//
// Idea: chunks of rows are summed by blocks of their own, and then the chunks in their order; no atomics.
#pragma once

#include "kernels/cuda/launch.cuh"

namespace lf::rt {

constexpr int column_lanes = 8, column_chunks = 64;

/// Doubles of scratch that column_sums needs.
inline int64_t column_scratch(int64_t cols) { return column_chunks * cols; }

struct RowChunks {
  int64_t count, rows; ///< of a chunk
  explicit RowChunks(int64_t all)
      : count(std::clamp<int64_t>((all + 63) / 64, 1, column_chunks)), rows((all + count - 1) / count) {}
};

/// Columns j of chunk blockIdx.y of the rows, summed in double.
template <class Term>
__global__ void column_parts(int64_t rows, int64_t cols, int64_t chunk, Term term, double *parts) {
  __shared__ double lanes[column_lanes][warp_threads];
  const int64_t j = int64_t(blockIdx.x) * warp_threads + threadIdx.x, begin = int64_t(blockIdx.y) * chunk;
  const int64_t end = begin + chunk < rows ? begin + chunk : rows;
  double sum = 0.0;
  if (j < cols)
#pragma unroll 4
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

/// y[j] = sum over chunks of parts[chunk][j].
inline void add_chunks(lf_rank *c, const char *what, int64_t chunks, int64_t cols, const double *parts, float *y) {
  for_each(c, what, cols, [=] __device__(int64_t j) {
    double sum = 0.0;
#pragma unroll 8
    for (int64_t k = 0; k < chunks; ++k)
      sum += parts[k * cols + j];
    y[j] = static_cast<float>(sum);
  });
}

/// y[j] = sum over i of term(i, j), in double, rounded once.
template <class Term>
void column_sums(lf_rank *c, const char *what, int64_t rows, int64_t cols, Term term, float *y, double *scratch) {
  if (cols <= 0)
    return;
  const RowChunks chunks(rows);
  const dim3 grid(static_cast<unsigned>((cols + warp_threads - 1) / warp_threads), static_cast<unsigned>(chunks.count));
  column_parts<<<grid, dim3(warp_threads, column_lanes), 0, cuda(c).compute()>>>(rows, cols, chunks.rows, term,
                                                                                 scratch);
  LF_LAUNCHED(what);
  add_chunks(c, what, chunks.count, cols, scratch, y);
}

} // namespace lf::rt
