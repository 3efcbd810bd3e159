// norm.cpp - RMS norm and layer norm over the last dim, with their gradients.
//
// Idea: a row is read twice, once for its statistics (in double) and once for its result; the gradients of the weights
// are summed over the rows in double, in the order of the rows.
#include "kernels/cpu/real.h"

#include <algorithm>
#include <cmath>

using namespace lf::rt;

namespace {

struct WeightSums;
struct BiasSums;

template <class T> LF_INLINE double inverse_rms(const T *x, int64_t cols, double eps) {
  const double squares =
      lane_sum(cols, [&](int64_t j) { return static_cast<double>(x[j]) * static_cast<double>(x[j]); });
  return 1.0 / std::sqrt(squares / static_cast<double>(cols) + eps);
}

struct Moments {
  double mean, inverse_deviation;
};

template <class T> LF_INLINE Moments moments(const T *x, int64_t cols, double eps) {
  const double mean = lane_sum(cols, [&](int64_t j) { return x[j]; }) / static_cast<double>(cols);
  const double squares = lane_sum(cols, [&](int64_t j) {
    const double d = static_cast<double>(x[j]) - mean;
    return d * d;
  });
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(cols) + eps)};
}

template <class T>
LF_INLINE void rms_norm(const T *__restrict x, const T *__restrict w, T *__restrict y, int64_t rows, int64_t cols,
                        double eps) {
  for (int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    const T inv = static_cast<T>(inverse_rms(x, cols, eps));
    for (int64_t j = 0; j < cols; ++j)
      y[j] = x[j] * inv * w[j];
  }
}

template <class T>
LF_INLINE void rms_norm_grad(const T *__restrict x, const T *__restrict w, const T *__restrict dy, T *__restrict dx,
                             T *dw, int64_t rows, int64_t cols, double eps) {
  double *__restrict sums = scratch<WeightSums, double>(cols);
  std::fill(sums, sums + cols, 0.0);
  for (int64_t i = 0; i < rows; ++i, x += cols, dy += cols, dx += cols) {
    const double inv = inverse_rms(x, cols, eps);
    const double dot = lane_sum(cols, [&](int64_t j) { return dy[j] * w[j] * x[j]; });
    const T scale = static_cast<T>(inv);
    const T pull = static_cast<T>(inv * inv * inv * dot / static_cast<double>(cols));
    for (int64_t j = 0; j < cols; ++j) {
      dx[j] = dy[j] * w[j] * scale - x[j] * pull;
      sums[j] += static_cast<double>(dy[j] * (x[j] * scale));
    }
  }
  for (int64_t j = 0; j < cols; ++j)
    dw[j] = static_cast<T>(sums[j]);
}

template <class T>
LF_INLINE void layer_norm(const T *__restrict x, const T *__restrict w, const T *__restrict b, T *__restrict y,
                          int64_t rows, int64_t cols, double eps) {
  for (int64_t i = 0; i < rows; ++i, x += cols, y += cols) {
    const Moments s = moments(x, cols, eps);
    const T mean = static_cast<T>(s.mean), inv = static_cast<T>(s.inverse_deviation);
    for (int64_t j = 0; j < cols; ++j)
      y[j] = (x[j] - mean) * inv * w[j] + b[j];
  }
}

template <class T>
LF_INLINE void layer_norm_grad(const T *__restrict x, const T *__restrict w, const T *__restrict dy, T *__restrict dx,
                               T *dw, T *db, int64_t rows, int64_t cols, double eps) {
  double *__restrict weight_sums = scratch<WeightSums, double>(cols);
  double *__restrict bias_sums = scratch<BiasSums, double>(cols);
  std::fill(weight_sums, weight_sums + cols, 0.0);
  std::fill(bias_sums, bias_sums + cols, 0.0);
  for (int64_t i = 0; i < rows; ++i, x += cols, dy += cols, dx += cols) {
    const Moments s = moments(x, cols, eps);
    const T mean = static_cast<T>(s.mean), inv = static_cast<T>(s.inverse_deviation);
    const double n = static_cast<double>(cols);
    const T sum = static_cast<T>(lane_sum(cols, [&](int64_t j) { return dy[j] * w[j]; }) / n);
    const T dot = static_cast<T>(lane_sum(cols, [&](int64_t j) { return dy[j] * w[j] * ((x[j] - mean) * inv); }) / n);
    for (int64_t j = 0; j < cols; ++j) {
      const T normal = (x[j] - mean) * inv;
      dx[j] = inv * (dy[j] * w[j] - sum - normal * dot);
      weight_sums[j] += static_cast<double>(dy[j] * normal);
      bias_sums[j] += static_cast<double>(dy[j]);
    }
  }
  for (int64_t j = 0; j < cols; ++j) {
    dw[j] = static_cast<T>(weight_sums[j]);
    db[j] = static_cast<T>(bias_sums[j]);
  }
}

} // namespace

void lf_rms_norm(lf_rank *c, const char *what, const void *x, const void *w, void *y, int64_t rows, int64_t cols,
                 double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    rms_norm(in<T>(x), in<T>(w), out<T>(y), rows, cols, eps);
  });
}

void lf_rms_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                      int64_t rows, int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    rms_norm_grad(in<T>(x), in<T>(w), in<T>(dy), out<T>(dx), out<T>(dw), rows, cols, eps);
  });
}

void lf_layer_norm(lf_rank *c, const char *what, const void *x, const void *w, const void *b, void *y, int64_t rows,
                   int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    layer_norm(in<T>(x), in<T>(w), in<T>(b), out<T>(y), rows, cols, eps);
  });
}

void lf_layer_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                        void *db, int64_t rows, int64_t cols, double eps) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    layer_norm_grad(in<T>(x), in<T>(w), in<T>(dy), out<T>(dx), out<T>(dw), out<T>(db), rows, cols, eps);
  });
}
