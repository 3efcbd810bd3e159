// matmul.cpp - matrix product, and the bias that follows it.
#include "kernels/cpu/blas.h"
#include "kernels/cpu/real.h"

#include <algorithm>

using namespace lf::rt;

namespace {

struct BiasSums;

template <class T> LF_INLINE void bias_add(const T *x, const T *b, T *__restrict y, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      y[i * cols + j] = x[i * cols + j] + b[j];
}

template <class T> LF_INLINE void bias_grad(const T *dy, T *db, int64_t rows, int64_t cols) {
  double *__restrict sums = scratch<BiasSums, double>(cols);
  std::fill(sums, sums + cols, 0.0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      sums[j] += static_cast<double>(dy[i * cols + j]);
  for (int64_t j = 0; j < cols; ++j)
    db[j] = static_cast<T>(sums[j]);
}

} // namespace

void lf_matmul(lf_rank *c, const char *what, const void *a, const void *b, void *y, int64_t m, int64_t n, int64_t k,
               int32_t trans_a, int32_t trans_b, int32_t accumulate, lf_dtype) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    use_blas_threads(c);
    gemm(trans_a != 0, trans_b != 0, m, n, k, T(1), in<T>(a), trans_a ? m : k, in<T>(b), trans_b ? k : n,
         T(accumulate ? 1 : 0), out<T>(y), n);
  });
}

void lf_bias_add(lf_rank *c, const char *what, const void *x, const void *b, void *y, int64_t rows, int64_t cols) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    bias_add(in<T>(x), in<T>(b), out<T>(y), rows, cols);
  });
}

void lf_bias_grad(lf_rank *c, const char *what, const void *dy, void *db, int64_t rows, int64_t cols) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    bias_grad(in<T>(dy), out<T>(db), rows, cols);
  });
}
