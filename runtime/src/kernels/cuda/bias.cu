// bias.cu - the bias that follows a matrix product.
//
// Floors: adding moves an array in and one out; the gradient reads one array.
#include "kernels/cuda/column_sums.cuh"

using namespace lf::rt;

namespace {

template <class T, int width> __global__ void add_bias(const T *x, const T *b, T *y, int64_t cols) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  for_packs<width>(x, cols, [&](int64_t j, float(&value)[width]) {
    float bias[width];
    load(b + j, bias);
#pragma unroll
    for (int e = 0; e < width; ++e)
      value[e] += bias[e];
    store(y + j, value);
  });
}

template <class T>
void bias_add(lf_rank *c, const char *what, const T *x, const T *b, T *y, int64_t rows, int64_t cols) {
  if (rows <= 0 || cols <= 0)
    return;
  cudaStream_t stream = cuda(c).compute();
  const unsigned blocks = static_cast<unsigned>(rows);
  if (cols % wide == 0 && aligned(x, b, y))
    add_bias<T, wide><<<blocks, row_threads(cols, wide), 0, stream>>>(x, b, y, cols);
  else
    add_bias<T, 1><<<blocks, row_threads(cols, 1), 0, stream>>>(x, b, y, cols);
  LF_LAUNCHED(what);
}

/// column_parts of x itself by packs: a thread sums its few rows in float, a block its threads in double.
__global__ void pack_parts(const Bf16 *x, int64_t rows, int64_t cols, int64_t chunk, double *parts) {
  __shared__ float lanes[column_lanes][warp_threads * wide];
  const int64_t j = (int64_t(blockIdx.x) * warp_threads + threadIdx.x) * wide, begin = int64_t(blockIdx.y) * chunk;
  const int64_t end = begin + chunk < rows ? begin + chunk : rows;
  float sum[wide] = {};
  if (j < cols)
#pragma unroll 4
    for (int64_t i = begin + threadIdx.y; i < end; i += column_lanes) {
      float value[wide];
      load(x + i * cols + j, value);
#pragma unroll
      for (int e = 0; e < wide; ++e)
        sum[e] += value[e];
    }
#pragma unroll
  for (int e = 0; e < wide; ++e)
    lanes[threadIdx.y][threadIdx.x * wide + e] = sum[e];
  __syncthreads();
  const int column = static_cast<int>(threadIdx.y) * warp_threads + static_cast<int>(threadIdx.x);
  const int64_t to = int64_t(blockIdx.x) * warp_threads * wide + column;
  if (to >= cols)
    return;
  double all = 0.0;
  for (int k = 0; k < column_lanes; ++k)
    all += static_cast<double>(lanes[k][column]);
  parts[blockIdx.y * cols + to] = all;
}
static_assert(column_lanes == wide, "a thread for each column of a block");

template <class T> void bias_grad(lf_rank *c, const char *what, const T *dy, float *db, int64_t rows, int64_t cols) {
  double *parts = cuda(c).scratch<double>(column_scratch(cols));
  if constexpr (std::is_same_v<T, Bf16>)
    if (cols > 0 && cols % wide == 0 && aligned(dy)) {
      const RowChunks chunks(rows);
      const dim3 grid(static_cast<unsigned>((cols / wide + warp_threads - 1) / warp_threads),
                      static_cast<unsigned>(chunks.count));
      pack_parts<<<grid, dim3(warp_threads, column_lanes), 0, cuda(c).compute()>>>(dy, rows, cols, chunks.rows, parts);
      LF_LAUNCHED(what);
      return add_chunks(c, what, chunks.count, cols, parts, db);
    }
  column_sums(
      c, what, rows, cols, [=] __device__(int64_t i, int64_t j) { return to_float(dy[i * cols + j]); }, db, parts);
}

} // namespace

void lf_bias_add(lf_rank *c, const char *what, const void *x, const void *b, void *y, int64_t rows, int64_t cols) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    bias_add(c, what, in<T>(x), in<T>(b), out<T>(y), rows, cols);
  });
}

void lf_bias_grad(lf_rank *c, const char *what, const void *dy, void *db, int64_t rows, int64_t cols) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    bias_grad(c, what, in<T>(dy), out<float>(db), rows, cols);
  });
}
