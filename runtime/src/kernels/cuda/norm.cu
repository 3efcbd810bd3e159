// norm.cu - RMS norm and layer norm over the last dim, with their gradients.
//
// Idea: one block a row. The gradients of the weights are sums over rows: in a bfloat16 program a block takes a run of
// rows and keeps its columns' sums in registers, so that nothing is read twice; in general, and in fp32, a second pass
// reads the arrays again.
// Floors: forward, x and y; gradient, x, dy and dx.
#include "kernels/cuda/column_sums.cuh"

using namespace lf::rt;

namespace {

template <class S> struct Moments { S mean, inverse; };

/// Statistics of one row, on all threads; the mean is 0 unless the norm is centred.
template <bool centred, int width, class T> __device__ Moments<Sum<T>> moments(const T *x, int64_t cols, double eps) {
  using S = Sum<T>;
  S mean = S(0), squares = S(0);
  if constexpr (centred) {
    for_packs<width>(x, cols, [&](int64_t, const float(&a)[width]) {
#pragma unroll
      for (int e = 0; e < width; ++e)
        mean += S(a[e]);
    });
    mean = block_reduce(mean, Add()) / S(cols);
  }
  for_packs<width>(x, cols, [&](int64_t, const float(&a)[width]) {
#pragma unroll
    for (int e = 0; e < width; ++e) {
      const S away = S(a[e]) - mean;
      squares += away * away;
    }
  });
  return {mean, S(1) / sqrt(block_reduce(squares, Add()) / S(cols) + S(eps))};
}

template <bool centred, int width, class T>
__global__ void normalize(const T *x, const T *w, const T *b, T *y, int64_t cols, double eps) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  const auto s = moments<centred, width>(x, cols, eps);
  const float mean = static_cast<float>(s.mean), inverse = static_cast<float>(s.inverse);
  for_packs<width>(x, cols, [&](int64_t j, const float(&a)[width]) {
    float weight[width], bias[width], result[width];
    load(w + j, weight);
    if constexpr (centred)
      load(b + j, bias);
#pragma unroll
    for (int e = 0; e < width; ++e)
      if constexpr (centred)
        result[e] = (a[e] - mean) * inverse * weight[e] + bias[e];
      else
        result[e] = a[e] * inverse * weight[e];
    store(y + j, result);
  });
}

template <bool centred, class T>
void norm(lf_rank *c, const char *what, const T *x, const T *w, const T *b, T *y, int64_t rows, int64_t cols,
          double eps) {
  if (rows <= 0)
    return;
  cudaStream_t stream = cuda(c).compute();
  const unsigned blocks = static_cast<unsigned>(rows);
  if (cols % wide == 0 && aligned(x, w, b, y))
    normalize<centred, wide><<<blocks, row_threads(cols, wide), 0, stream>>>(x, w, b, y, cols, eps);
  else
    normalize<centred, 1><<<blocks, row_threads(cols, 1), 0, stream>>>(x, w, b, y, cols, eps);
  LF_LAUNCHED(what);
}

// ---- The gradient in two passes -----------------------------------------------------------------------------------

template <bool centred, class T>
__global__ void row_gradient(const T *x, const T *w, const T *dy, T *dx, Moments<float> *statistics, int64_t cols,
                             double eps) {
  using S = Sum<T>;
  x += blockIdx.x * cols;
  dy += blockIdx.x * cols;
  dx += blockIdx.x * cols;
  const auto s = moments<centred, 1>(x, cols, eps);
  const float mean = static_cast<float>(s.mean), inverse = static_cast<float>(s.inverse);
  S sums[2] = {S(0), S(0)}; // of the slopes of the normal values, and of those times the values
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
    const float slope = to_float(dy[j]) * to_float(w[j]), value = to_float(x[j]);
    if constexpr (centred)
      sums[0] += S(slope);
    sums[1] += S(slope * (centred ? (value - mean) * inverse : value));
  }
  block_reduce(sums, Add());
  const S n = S(cols);
  const float sum = static_cast<float>(sums[0] / n), dot = static_cast<float>(sums[1] / n);
  const float pull = static_cast<float>(s.inverse * s.inverse * s.inverse * sums[1] / n);
  for (int64_t j = threadIdx.x; j < cols; j += blockDim.x) {
    const float slope = to_float(dy[j]) * to_float(w[j]), value = to_float(x[j]);
    if constexpr (centred)
      dx[j] = to_real<T>(inverse * (slope - sum - (value - mean) * inverse * dot));
    else
      dx[j] = to_real<T>(slope * inverse - value * pull);
  }
  if (threadIdx.x == 0)
    statistics[blockIdx.x] = {mean, inverse};
}

template <bool centred, class T>
void norm_grad(lf_rank *c, const char *what, const T *x, const T *w, const T *dy, T *dx, float *dw, float *db,
               int64_t rows, int64_t cols, double eps) {
  double *parts = cuda(c).scratch<double>(column_scratch(cols) + rows);
  Moments<float> *statistics = reinterpret_cast<Moments<float> *>(parts + column_scratch(cols));
  if (rows > 0) {
    row_gradient<centred><<<static_cast<unsigned>(rows), row_threads(cols, 1), 0, cuda(c).compute()>>>(
        x, w, dy, dx, statistics, cols, eps);
    LF_LAUNCHED(what);
  }
  column_sums(
      c, what, rows, cols,
      [=] __device__(int64_t i, int64_t j) {
        const float value = to_float(x[i * cols + j]) - (centred ? statistics[i].mean : 0.0f);
        return to_float(dy[i * cols + j]) * (value * statistics[i].inverse);
      },
      dw, parts);
  if (centred)
    column_sums(
        c, what, rows, cols, [=] __device__(int64_t i, int64_t j) { return to_float(dy[i * cols + j]); }, db, parts);
}

// ---- The gradient in one pass -------------------------------------------------------------------------------------

constexpr int held = 2;                              ///< packs of a row that one thread has
constexpr int64_t most_fused = 512 * held * wide;    ///< columns
constexpr int64_t fused_parts = int64_t(528) * 2048; ///< sums of blocks: four blocks on each of 132 processors

/// Rows of one block, so that the blocks' sums are at most fused_parts: of the sizes alone.
int64_t fused_rows(int64_t rows, int64_t cols) {
  const int64_t blocks = std::clamp<int64_t>(fused_parts / cols, 1, 1056);
  return (rows + blocks - 1) / blocks;
}

/// dx of rows [blockIdx.x * chunk, + chunk), and their sums for dw and db in row blockIdx.x of the parts.
template <bool centred>
__global__ void __launch_bounds__(512)
    fused_gradient(const Bf16 *x, const Bf16 *w, const Bf16 *dy, Bf16 *dx, float *dw_parts, float *db_parts,
                   int64_t rows, int64_t cols, int64_t chunk, float eps) {
  float dw[held][wide] = {}, db[centred ? held : 1][wide] = {};
  uint4 next_x[held], next_dy[held];
  auto column = [&](int k) { return (int64_t(k) * blockDim.x + threadIdx.x) * wide; };
  auto fetch = [&](int64_t row) {
#pragma unroll
    for (int k = 0; k < held; ++k) {
      const bool mine = column(k) < cols;
      const uint4 nothing = make_uint4(0, 0, 0, 0);
      next_x[k] = mine ? *reinterpret_cast<const uint4 *>(x + row * cols + column(k)) : nothing;
      next_dy[k] = mine ? *reinterpret_cast<const uint4 *>(dy + row * cols + column(k)) : nothing;
    }
  };
  const int64_t begin = blockIdx.x * chunk, end = begin + chunk < rows ? begin + chunk : rows;
  if (begin < end)
    fetch(begin);
  for (int64_t row = begin; row < end; ++row) {
    float a[held][wide], slope[held][wide]; // the row, less its mean when centred; dy
#pragma unroll
    for (int k = 0; k < held; ++k) {
      unpack(next_x[k], a[k]);
      unpack(next_dy[k], slope[k]);
    }
    if (row + 1 < end) // so that memory works while the block sums
      fetch(row + 1);
    if constexpr (centred) {
      float mean = 0.0f;
#pragma unroll
      for (int k = 0; k < held; ++k)
#pragma unroll
        for (int e = 0; e < wide; ++e)
          mean += a[k][e];
      mean = block_reduce(mean, Add()) / static_cast<float>(cols);
#pragma unroll
      for (int k = 0; k < held; ++k)
#pragma unroll
        for (int e = 0; e < wide; ++e)
          a[k][e] = column(k) < cols ? a[k][e] - mean : 0.0f;
    }
    float sums[3] = {}; // squares, slopes of the normal values times the values, those slopes
#pragma unroll
    for (int k = 0; k < held; ++k) {
      float weight[wide] = {};
      if (column(k) < cols)
        load(w + column(k), weight);
#pragma unroll
      for (int e = 0; e < wide; ++e) {
        sums[0] += a[k][e] * a[k][e];
        sums[1] += slope[k][e] * weight[e] * a[k][e];
        sums[2] += slope[k][e] * weight[e];
      }
    }
    block_reduce(sums, Add());
    const float n = static_cast<float>(cols), inverse = 1.0f / sqrtf(sums[0] / n + eps);
    const float pull = inverse * inverse * sums[1] / n, sum = centred ? sums[2] / n : 0.0f;
#pragma unroll
    for (int k = 0; k < held; ++k) {
      if (column(k) >= cols)
        continue;
      float weight[wide], result[wide];
      load(w + column(k), weight);
#pragma unroll
      for (int e = 0; e < wide; ++e) {
        result[e] = inverse * (slope[k][e] * weight[e] - sum - a[k][e] * pull);
        dw[k][e] += slope[k][e] * (a[k][e] * inverse);
        if constexpr (centred)
          db[k][e] += slope[k][e];
      }
      store(dx + row * cols + column(k), result);
    }
  }
#pragma unroll
  for (int k = 0; k < held; ++k)
    if (column(k) < cols) {
      store(dw_parts + blockIdx.x * cols + column(k), dw[k]);
      if constexpr (centred)
        store(db_parts + blockIdx.x * cols + column(k), db[k]);
    }
}

template <bool centred>
void fused(lf_rank *c, const char *what, const Bf16 *x, const Bf16 *w, const Bf16 *dy, Bf16 *dx, float *dw, float *db,
           int64_t rows, int64_t cols, double eps) {
  const int64_t chunk = fused_rows(rows, cols), blocks = (rows + chunk - 1) / chunk;
  double *sums = cuda(c).scratch<double>(column_scratch(cols) + (centred ? 2 : 1) * blocks * cols / 2 + 1);
  float *dw_parts = reinterpret_cast<float *>(sums + column_scratch(cols)), *db_parts = dw_parts + blocks * cols;
  fused_gradient<centred>
      <<<static_cast<unsigned>(blocks), row_threads(cols, wide * held / 4, 512), 0, cuda(c).compute()>>>(
          x, w, dy, dx, dw_parts, db_parts, rows, cols, chunk, static_cast<float>(eps));
  LF_LAUNCHED(what);
  column_sums(
      c, what, blocks, cols, [=] __device__(int64_t i, int64_t j) { return dw_parts[i * cols + j]; }, dw, sums);
  if (centred)
    column_sums(
        c, what, blocks, cols, [=] __device__(int64_t i, int64_t j) { return db_parts[i * cols + j]; }, db, sums);
}

template <bool centred, class T>
void norm_gradient(lf_rank *c, const char *what, const T *x, const T *w, const T *dy, T *dx, float *dw, float *db,
                   int64_t rows, int64_t cols, double eps) {
  if constexpr (std::is_same_v<T, Bf16>)
    if (rows > 0 && cols % wide == 0 && cols <= most_fused && aligned(x, w, dy, dx))
      return fused<centred>(c, what, x, w, dy, dx, dw, db, rows, cols, eps);
  norm_grad<centred>(c, what, x, w, dy, dx, dw, db, rows, cols, eps);
}

} // namespace

void lf_rms_norm(lf_rank *c, const char *what, const void *x, const void *w, void *y, int64_t rows, int64_t cols,
                 double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    norm<false, T>(c, what, in<T>(x), in<T>(w), nullptr, out<T>(y), rows, cols, eps);
  });
}

void lf_rms_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                      int64_t rows, int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    norm_gradient<false, T>(c, what, in<T>(x), in<T>(w), in<T>(dy), out<T>(dx), out<float>(dw), nullptr, rows, cols,
                            eps);
  });
}

void lf_layer_norm(lf_rank *c, const char *what, const void *x, const void *w, const void *b, void *y, int64_t rows,
                   int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    norm<true, T>(c, what, in<T>(x), in<T>(w), in<T>(b), out<T>(y), rows, cols, eps);
  });
}

void lf_layer_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                        void *db, int64_t rows, int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    norm_gradient<true, T>(c, what, in<T>(x), in<T>(w), in<T>(dy), out<T>(dx), out<float>(dw), out<float>(db), rows,
                           cols, eps);
  });
}
