// cross_entropy.cu - softmax cross entropy in pieces that a vocabulary split over ranks can combine.
//
// Idea: as kernels/cpu/cross_entropy.cpp; one block a row. Columns at or above `valid` are padding and never count.
// Floors: the logits once for the maximum, once for the sum, and once in and once out for the gradient.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

/// Columns of this shard that are not padding.
int64_t valid_columns(int64_t v, int64_t offset, int64_t valid) { return std::clamp<int64_t>(valid - offset, 0, v); }

/// e^x for x <= 0 as exact as a logit is.
template <class T> __device__ float power(float x) {
  if constexpr (std::is_same_v<T, float>)
    return expf(x);
  else
    return __expf(x);
}

template <int width, class T> __global__ void row_max(const T *l, float *m, int64_t v, int64_t columns) {
  // Finite, so that a shard of padding alone loses every maximum and exp(m - m) stays defined.
  float best = -1e30f;
  for_packs<width>(l + blockIdx.x * v, columns, [&](int64_t j, const float(&x)[width]) {
#pragma unroll
    for (int e = 0; e < width; ++e)
      if (j + e < columns)
        best = Larger()(x[e], best);
  });
  best = block_reduce(best, Larger());
  if (threadIdx.x == 0)
    m[blockIdx.x] = best;
}

template <int width, class T>
__global__ void sum_exp(const T *l, const float *m, float *z, int64_t v, int64_t columns) {
  const float top = m[blockIdx.x];
  Sum<T> sum = Sum<T>(0);
  for_packs<width>(l + blockIdx.x * v, columns, [&](int64_t j, const float(&x)[width]) {
#pragma unroll
    for (int e = 0; e < width; ++e)
      if (j + e < columns)
        sum += Sum<T>(power<T>(x[e] - top));
  });
  const double all = block_reduce(static_cast<double>(sum), Add());
  if (threadIdx.x == 0)
    z[blockIdx.x] = static_cast<float>(all);
}

template <int width, class T>
__global__ void gradient(const T *l, const float *m, const float *z, const int32_t *labels, const float *g, T *dl,
                         int64_t v, int64_t offset, int64_t columns) {
  const int64_t row = blockIdx.x;
  const bool counts = labels[row] >= 0;
  const int64_t target = int64_t(labels[row]) - offset;
  const float top = m[row], slope = g[row], factor = slope / z[row];
  T *to = dl + row * v;
  for_packs<width>(l + row * v, v, [&](int64_t j, const float(&x)[width]) {
    float value[width];
#pragma unroll
    for (int e = 0; e < width; ++e) {
      value[e] = counts && j + e < columns ? power<T>(x[e] - top) * factor : 0.0f;
      if (counts && j + e < columns && j + e == target)
        value[e] -= slope;
    }
    store(to + j, value);
  });
}

/// launch(logits, width, blocks, threads) for a block a row of l [rows, v], and `to` alike; `width` is an integral_constant:
/// elements of a pack.
template <class Launch>
void on_rows(lf_rank *c, const char *what, const void *l, const void *to, int64_t rows, int64_t v, Launch launch) {
  if (rows <= 0)
    return;
  const dim3 blocks(static_cast<unsigned>(rows));
  auto threads = [v](int width) { return dim3(static_cast<unsigned>(row_threads(v, width, 512))); };
  with_real(c, what, [&](auto real) {
    const auto *logits = in<decltype(real)>(l);
    if (v % wide == 0 && aligned(logits, in<decltype(real)>(to)))
      launch(logits, std::integral_constant<int, wide>{}, blocks, threads(wide));
    else
      launch(logits, std::integral_constant<int, 1>{}, blocks, threads(1));
    LF_LAUNCHED(what);
  });
}

template <class T>
void pick(lf_rank *c, const char *what, const T *l, const int32_t *labels, float *t, int64_t rows, int64_t v,
          int64_t offset) {
  for_each(c, what, rows, [=] __device__(int64_t i) {
    const int64_t column = labels[i] - offset;
    t[i] = labels[i] >= 0 && column >= 0 && column < v ? to_float(l[i * v + column]) : 0.0f;
  });
}

} // namespace

void lf_row_max(lf_rank *c, const char *what, const void *l, void *m, int64_t rows, int64_t v, int64_t offset,
                int64_t valid) {
  const int64_t columns = valid_columns(v, offset, valid);
  on_rows(c, what, l, l, rows, v, [&](const auto *logits, auto width, dim3 blocks, dim3 block) {
    row_max<decltype(width)::value><<<blocks, block, 0, cuda(c).compute()>>>(logits, out<float>(m), v, columns);
  });
}

void lf_sum_exp(lf_rank *c, const char *what, const void *l, const void *m, void *z, int64_t rows, int64_t v,
                int64_t offset, int64_t valid) {
  const int64_t columns = valid_columns(v, offset, valid);
  on_rows(c, what, l, l, rows, v, [&](const auto *logits, auto width, dim3 blocks, dim3 block) {
    sum_exp<decltype(width)::value>
        <<<blocks, block, 0, cuda(c).compute()>>>(logits, in<float>(m), out<float>(z), v, columns);
  });
}

void lf_pick(lf_rank *c, const char *what, const void *l, const int32_t *labels, void *t, int64_t rows, int64_t v,
             int64_t offset) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    pick(c, what, in<T>(l), labels, out<float>(t), rows, v, offset);
  });
}

void lf_nll(lf_rank *c, const char *what, const void *z, const void *m, const void *t, const int32_t *labels, void *nll,
            int64_t rows) {
  const float *sums = in<float>(z), *top = in<float>(m), *target = in<float>(t);
  float *to = out<float>(nll);
  for_each(c, what, rows,
           [=] __device__(int64_t i) { to[i] = labels[i] < 0 ? 0.0f : logf(sums[i]) + top[i] - target[i]; });
}

void lf_cross_entropy_grad(lf_rank *c, const char *what, const void *l, const void *m, const void *z,
                           const int32_t *labels, const void *g, void *dl, int64_t rows, int64_t v, int64_t offset,
                           int64_t valid) {
  const int64_t columns = valid_columns(v, offset, valid);
  on_rows(c, what, l, dl, rows, v, [&](const auto *logits, auto width, dim3 blocks, dim3 block) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(logits)>>;
    gradient<decltype(width)::value><<<blocks, block, 0, cuda(c).compute()>>>(
        logits, in<float>(m), in<float>(z), labels, in<float>(g), out<T>(dl), v, offset, columns);
  });
}
