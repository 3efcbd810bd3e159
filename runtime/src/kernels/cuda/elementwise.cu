// elementwise.cu - copies, sums, slices and transposes of dense arrays, and reductions to one real.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

constexpr int most_terms = 16; ///< of one launch

struct Terms {
  const Real *x[most_terms];
  int32_t count;
};

} // namespace

void lf_copy(lf_rank *c, const char *, const void *x, void *y, int64_t count) {
  if (count > 0)
    LF_CUDA(
        cudaMemcpyAsync(y, x, static_cast<size_t>(count) * sizeof(Real), cudaMemcpyDeviceToDevice, cuda(c).compute()));
}

void lf_zero(lf_rank *c, const char *, void *y, int64_t count) {
  if (count > 0)
    LF_CUDA(cudaMemsetAsync(y, 0, static_cast<size_t>(count) * sizeof(Real), cuda(c).compute()));
}

void lf_fill(lf_rank *c, const char *what, void *y, double value, int64_t count) {
  Real *to = out(y);
  const Real real = static_cast<Real>(value);
  for_each(c, what, count, [=] __device__(int64_t i) { to[i] = real; });
}

void lf_broadcast(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  const Real *from = in(x);
  Real *to = out(y);
  for_each(c, what, count, [=] __device__(int64_t i) { to[i] = *from; });
}

void lf_accumulate(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  const Real *from = in(x);
  Real *to = out(y);
  for_each(c, what, count, [=] __device__(int64_t i) { to[i] += from[i]; });
}

void lf_sum(lf_rank *c, const char *what, const void *const *xs, int32_t terms, void *y, int64_t count) {
  if (terms == 0)
    return lf_zero(c, what, y, count);
  Real *to = out(y);
  // More terms than one launch takes: the sum so far is the first term of the next.
  for (int32_t first = 0; first < terms;) {
    Terms some{};
    if (first > 0)
      some.x[some.count++] = to;
    while (some.count < most_terms && first < terms)
      some.x[some.count++] = in(xs[first++]);
    for_each(c, what, count, [=] __device__(int64_t i) {
      Real sum = some.x[0][i];
      for (int32_t t = 1; t < some.count; ++t)
        sum += some.x[t][i];
      to[i] = sum;
    });
  }
}

void lf_slice(lf_rank *c, const char *what, const void *x, void *y, int64_t outer, int64_t parts, int64_t inner,
              int64_t index) {
  const Real *from = in(x);
  Real *to = out(y);
  for_each(c, what, outer * inner,
           [=] __device__(int64_t i) { to[i] = from[(i / inner * parts + index) * inner + i % inner]; });
}

void lf_transpose(lf_rank *c, const char *what, const void *x, void *y, int64_t a, int64_t b, int64_t inner) {
  const Real *from = in(x);
  Real *to = out(y);
  for_each(c, what, a * b * inner, [=] __device__(int64_t i) {
    const int64_t e = i % inner, row = i / inner;
    to[i] = from[(row % a * b + row / a) * inner + e];
  });
}

void lf_sum_all(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  const Real *from = in(x);
  Real *to = out(y);
  for_rows(c, what, 1, [=] __device__(int64_t) {
    const double sum = block_sum(count, [=](int64_t i) { return from[i]; });
    if (threadIdx.x == 0)
      *to = static_cast<Real>(sum);
  });
}

void lf_count(lf_rank *c, const char *what, const int32_t *labels, void *y, int64_t count) {
  Real *to = out(y);
  for_rows(c, what, 1, [=] __device__(int64_t) {
    const double sum = block_sum(count, [=](int64_t i) { return labels[i] >= 0 ? 1.0 : 0.0; });
    if (threadIdx.x == 0)
      *to = static_cast<Real>(sum);
  });
}
