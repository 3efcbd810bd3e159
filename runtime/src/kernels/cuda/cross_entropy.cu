// cross_entropy.cu - softmax cross entropy in pieces that a vocabulary split over ranks can combine.
//
// Idea: as kernels/cpu/cross_entropy.cpp; one block a row. Columns at or above `valid` are padding and never count.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

/// Columns of this shard that are not padding.
static int64_t valid_columns(int64_t v, int64_t offset, int64_t valid) {
  return std::clamp<int64_t>(valid - offset, 0, v);
}

void lf_row_max(lf_rank *c, const char *what, const void *l, void *m, int64_t rows, int64_t v, int64_t offset,
                int64_t valid) {
  if (rows <= 0)
    return;
  const int64_t columns = valid_columns(v, offset, valid);
  const Real *logits = in(l);
  Real *to = out(m);
  for_rows(c, what, rows, [=] __device__(int64_t row) {
    // Finite, so that a shard of padding alone loses every maximum and exp(m - m) stays defined.
    Real best = Real(-1e30);
    for (int64_t j = threadIdx.x; j < columns; j += block_threads)
      best = Larger()(logits[row * v + j], best);
    best = block_reduce(best, Larger());
    if (threadIdx.x == 0)
      to[row] = best;
  });
}

void lf_sum_exp(lf_rank *c, const char *what, const void *l, const void *m, void *z, int64_t rows, int64_t v,
                int64_t offset, int64_t valid) {
  if (rows <= 0)
    return;
  const int64_t columns = valid_columns(v, offset, valid);
  const Real *logits = in(l), *top = in(m);
  Real *to = out(z);
  for_rows(c, what, rows, [=] __device__(int64_t row) {
    const double sum = block_sum(columns, [=](int64_t j) { return expf(logits[row * v + j] - top[row]); });
    if (threadIdx.x == 0)
      to[row] = static_cast<Real>(sum);
  });
}

void lf_pick(lf_rank *c, const char *what, const void *l, const int32_t *labels, void *t, int64_t rows, int64_t v,
             int64_t offset) {
  const Real *logits = in(l);
  Real *to = out(t);
  for_each(c, what, rows, [=] __device__(int64_t i) {
    const int64_t column = labels[i] - offset;
    to[i] = labels[i] >= 0 && column >= 0 && column < v ? logits[i * v + column] : Real(0);
  });
}

void lf_nll(lf_rank *c, const char *what, const void *z, const void *m, const void *t, const int32_t *labels, void *nll,
            int64_t rows) {
  const Real *sums = in(z), *top = in(m), *target = in(t);
  Real *to = out(nll);
  for_each(c, what, rows,
           [=] __device__(int64_t i) { to[i] = labels[i] < 0 ? Real(0) : logf(sums[i]) + top[i] - target[i]; });
}

void lf_cross_entropy_grad(lf_rank *c, const char *what, const void *l, const void *m, const void *z,
                           const int32_t *labels, const void *g, void *dl, int64_t rows, int64_t v, int64_t offset,
                           int64_t valid) {
  const int64_t columns = valid_columns(v, offset, valid);
  const Real *logits = in(l), *top = in(m), *sums = in(z), *slope = in(g);
  Real *to = out(dl);
  for_each(c, what, rows * v, [=] __device__(int64_t i) {
    const int64_t row = i / v, j = i % v;
    Real value = Real(0);
    if (labels[row] >= 0 && j < columns) {
      value = expf(logits[i] - top[row]) * (slope[row] / sums[row]);
      if (j == labels[row] - offset)
        value -= slope[row];
    }
    to[i] = value;
  });
}
