// adamw.cpp - the optimizer's update and the square sum behind the gradient norm.
#include "kernels/cpu/real.h"
#include "kernels/kernels.h"

#include <cmath>

namespace lf::rt {
namespace {

template <class T>
LF_INLINE void update(T *__restrict p, const T *__restrict g, T *__restrict m, T *__restrict v, int64_t count,
                      const AdamwParameters &a) {
  const double t = static_cast<double>(a.step);
  const T keep = static_cast<T>(1.0 - a.lr * a.weight_decay);
  const T rate = static_cast<T>(a.lr / (1.0 - std::pow(a.beta1, t)));
  const T root = static_cast<T>(1.0 / std::sqrt(1.0 - std::pow(a.beta2, t)));
  const T beta2 = static_cast<T>(a.beta2);
  const T fresh1 = static_cast<T>(1.0 - a.beta1), fresh2 = static_cast<T>(1.0 - a.beta2);
  const T eps = static_cast<T>(a.eps), scale = static_cast<T>(a.grad_scale);
  for (int64_t i = 0; i < count; ++i) {
    const T grad = g[i] * scale;
    const T first = m[i] + fresh1 * (grad - m[i]);
    const T second = beta2 * v[i] + fresh2 * grad * grad;
    m[i] = first;
    v[i] = second;
    p[i] = p[i] * keep - rate * first / (std::sqrt(second) * root + eps);
  }
}

} // namespace

double square_sum(lf_rank *c, const void *x, int64_t count) {
  double sum = 0.0;
  with_real(c, "square_sum", [&](auto real) {
    using T = decltype(real);
    const T *values = in<T>(x);
    sum = lane_sum(count, [&](int64_t i) { return static_cast<double>(values[i]) * static_cast<double>(values[i]); });
  });
  return sum;
}

void adamw(lf_rank *c, void *p, void *, const void *g, void *m, void *v, int64_t count, AdamwParameters a) {
  with_real(c, "adamw", [&](auto real) {
    using T = decltype(real);
    update(out<T>(p), in<T>(g), out<T>(m), out<T>(v), count, a);
  });
}

} // namespace lf::rt
