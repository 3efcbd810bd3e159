// bias.cu - the bias that follows a matrix product.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

void lf_bias_add(lf_rank *c, const char *what, const void *x, const void *b, void *y, int64_t rows, int64_t cols) {
  const Real *from = in(x), *bias = in(b);
  Real *to = out(y);
  for_each(c, what, rows * cols, [=] __device__(int64_t i) { to[i] = from[i] + bias[i % cols]; });
}

void lf_bias_grad(lf_rank *c, const char *what, const void *dy, void *db, int64_t rows, int64_t cols) {
  const Real *slope = in(dy);
  column_sums(
      c, what, rows, cols, [=] __device__(int64_t i, int64_t j) { return slope[i * cols + j]; }, out(db),
      cuda(c).scratch<double>(column_scratch(cols)));
}
