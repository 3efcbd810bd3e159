// norm.cu - RMS norm and layer norm over the last dim, with their gradients.
//
// Idea: one block a row, statistics in double; the gradient keeps each row's statistics in scratch, from which the
// weights' gradients are summed over the rows.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

struct Moments {
  Real mean, inverse;
};

__device__ double inverse_rms(const Real *x, int64_t cols, double eps) {
  const double squares =
      block_sum(cols, [=](int64_t j) { return static_cast<double>(x[j]) * static_cast<double>(x[j]); });
  return 1.0 / sqrt(squares / static_cast<double>(cols) + eps);
}

__device__ Moments moments(const Real *x, int64_t cols, double eps) {
  const double mean = block_sum(cols, [=](int64_t j) { return x[j]; }) / static_cast<double>(cols);
  const double squares = block_sum(cols, [=](int64_t j) {
    const double away = static_cast<double>(x[j]) - mean;
    return away * away;
  });
  return {static_cast<Real>(mean), static_cast<Real>(1.0 / sqrt(squares / static_cast<double>(cols) + eps))};
}

} // namespace

void lf_rms_norm(lf_rank *c, const char *what, const void *x, const void *w, void *y, int64_t rows, int64_t cols,
                 double eps) {
  if (rows <= 0)
    return;
  const Real *from = in(x), *weight = in(w);
  Real *to = out(y);
  for_rows(c, what, rows, [=] __device__(int64_t row) {
    const Real *a = from + row * cols;
    const Real inverse = static_cast<Real>(inverse_rms(a, cols, eps));
    for (int64_t j = threadIdx.x; j < cols; j += block_threads)
      to[row * cols + j] = a[j] * inverse * weight[j];
  });
}

void lf_rms_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                      int64_t rows, int64_t cols, double eps) {
  const Real *from = in(x), *weight = in(w), *slope = in(dy);
  Real *to = out(dx);
  double *parts = cuda(c).scratch<double>(column_scratch(cols) + rows);
  Real *scales = reinterpret_cast<Real *>(parts + column_scratch(cols));
  if (rows > 0)
    for_rows(c, what, rows, [=] __device__(int64_t row) {
      const Real *a = from + row * cols, *da = slope + row * cols;
      const double inverse = inverse_rms(a, cols, eps);
      const double dot = block_sum(cols, [=](int64_t j) { return da[j] * weight[j] * a[j]; });
      const Real scale = static_cast<Real>(inverse);
      const Real pull = static_cast<Real>(inverse * inverse * inverse * dot / static_cast<double>(cols));
      for (int64_t j = threadIdx.x; j < cols; j += block_threads)
        to[row * cols + j] = da[j] * weight[j] * scale - a[j] * pull;
      if (threadIdx.x == 0)
        scales[row] = scale;
    });
  column_sums(
      c, what, rows, cols,
      [=] __device__(int64_t i, int64_t j) { return slope[i * cols + j] * (from[i * cols + j] * scales[i]); }, out(dw),
      parts);
}

void lf_layer_norm(lf_rank *c, const char *what, const void *x, const void *w, const void *b, void *y, int64_t rows,
                   int64_t cols, double eps) {
  if (rows <= 0)
    return;
  const Real *from = in(x), *weight = in(w), *bias = in(b);
  Real *to = out(y);
  for_rows(c, what, rows, [=] __device__(int64_t row) {
    const Real *a = from + row * cols;
    const Moments s = moments(a, cols, eps);
    for (int64_t j = threadIdx.x; j < cols; j += block_threads)
      to[row * cols + j] = (a[j] - s.mean) * s.inverse * weight[j] + bias[j];
  });
}

void lf_layer_norm_grad(lf_rank *c, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                        void *db, int64_t rows, int64_t cols, double eps) {
  const Real *from = in(x), *weight = in(w), *slope = in(dy);
  Real *to = out(dx);
  double *parts = cuda(c).scratch<double>(column_scratch(cols) + rows);
  Moments *statistics = reinterpret_cast<Moments *>(parts + column_scratch(cols));
  if (rows > 0)
    for_rows(c, what, rows, [=] __device__(int64_t row) {
      const Real *a = from + row * cols, *da = slope + row * cols;
      const Moments s = moments(a, cols, eps);
      const double n = static_cast<double>(cols);
      const Real sum = static_cast<Real>(block_sum(cols, [=](int64_t j) { return da[j] * weight[j]; }) / n);
      const Real dot = static_cast<Real>(
          block_sum(cols, [=](int64_t j) { return da[j] * weight[j] * ((a[j] - s.mean) * s.inverse); }) / n);
      for (int64_t j = threadIdx.x; j < cols; j += block_threads)
        to[row * cols + j] = s.inverse * (da[j] * weight[j] - sum - (a[j] - s.mean) * s.inverse * dot);
      if (threadIdx.x == 0)
        statistics[row] = s;
    });
  column_sums(
      c, what, rows, cols,
      [=] __device__(int64_t i, int64_t j) {
        return slope[i * cols + j] * ((from[i * cols + j] - statistics[i].mean) * statistics[i].inverse);
      },
      out(dw), parts);
  column_sums(
      c, what, rows, cols, [=] __device__(int64_t i, int64_t j) { return slope[i * cols + j]; }, out(db), parts);
}
