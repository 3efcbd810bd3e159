// activation.cpp - pointwise nonlinearities, alone and as gated units, with their gradients.
//
// Idea: a function is a struct with value(x) and slope(x); the loops are written once.
#include "kernels/cpu/math.h"
#include "kernels/cpu/real.h"

#include <algorithm>

using namespace lf::rt;

namespace {

template <class T> struct Silu {
  LF_INLINE static T value(T x) { return x * sigmoid(x); }
  LF_INLINE static T slope(T x) {
    const T s = sigmoid(x);
    return s * (T(1) + x * (T(1) - s));
  }
};

template <class T> struct Gelu {
  LF_INLINE static T distribution(T x) { return T(0.5) * (T(1) + fast_erf(x * T(0.70710678118654752))); }
  LF_INLINE static T value(T x) { return x * distribution(x); }
  LF_INLINE static T slope(T x) { return distribution(x) + x * T(0.39894228040143268) * fast_exp(T(-0.5) * x * x); }
};

/// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u).
template <class T> struct GeluTanh {
  static constexpr T twice = T(1.5957691216057308), cubic = T(0.044715);
  LF_INLINE static T value(T x) { return x * sigmoid(twice * (x + cubic * x * x * x)); }
  LF_INLINE static T slope(T x) {
    const T s = sigmoid(twice * (x + cubic * x * x * x));
    return s + x * s * (T(1) - s) * twice * (T(1) + T(3) * cubic * x * x);
  }
};

template <class T> struct Relu {
  LF_INLINE static T value(T x) { return x > T(0) ? x : T(0); }
  LF_INLINE static T slope(T x) { return x > T(0) ? T(1) : T(0); }
};

template <class F, class T> LF_INLINE void activation(const T *__restrict x, T *__restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = F::value(x[i]);
}

// Gradients may be written over what they are computed from: inputs are read a block ahead, so that the loops over a
// block need not be careful.
constexpr int64_t block = 512;

template <class F, class T> LF_INLINE void activation_grad(const T *x, const T *dy, T *dx, int64_t count) {
  T at[block], d[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t n = std::min(block, count - begin);
    std::copy_n(x + begin, n, at);
    std::copy_n(dy + begin, n, d);
    for (int64_t i = 0; i < n; ++i)
      dx[begin + i] = d[i] * F::slope(at[i]);
  }
}

template <class F, class T>
LF_INLINE void glu(const T *__restrict gate, const T *__restrict up, T *__restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = F::value(gate[i]) * up[i];
}

template <class F, class T>
LF_INLINE void glu_grad(const T *gate, const T *up, const T *dy, T *dgate, T *dup, int64_t count) {
  T g[block], u[block], d[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    const int64_t n = std::min(block, count - begin);
    std::copy_n(gate + begin, n, g);
    std::copy_n(up + begin, n, u);
    std::copy_n(dy + begin, n, d);
    for (int64_t i = 0; i < n; ++i) {
      dgate[begin + i] = d[i] * u[i] * F::slope(g[i]);
      dup[begin + i] = d[i] * F::value(g[i]);
    }
  }
}

/// Calls body(T{}, F{}) with F the function of that kind.
template <class Body> void with_function(lf_rank *c, const char *what, lf_activation_kind kind, Body &&body) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    switch (kind) {
    case LF_SILU:
      LF_INLINED return body(real, Silu<T>{});
    case LF_GELU:
      LF_INLINED return body(real, Gelu<T>{});
    case LF_GELU_TANH:
      LF_INLINED return body(real, GeluTanh<T>{});
    case LF_RELU:
      LF_INLINED return body(real, Relu<T>{});
    }
    throw Failure{2, std::string("\"") + what + "\": expected an activation kind 0 to 3, got " +
                         std::to_string(static_cast<int>(kind))};
  });
}

} // namespace

void lf_activation(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto real, auto f) {
    using T = decltype(real);
    activation<decltype(f)>(in<T>(x), out<T>(y), count);
  });
}

void lf_activation_grad(lf_rank *c, const char *what, const void *x, const void *dy, void *dx, int64_t count,
                        lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto real, auto f) {
    using T = decltype(real);
    activation_grad<decltype(f)>(in<T>(x), in<T>(dy), out<T>(dx), count);
  });
}

void lf_glu(lf_rank *c, const char *what, const void *gate, const void *up, void *y, int64_t count,
            lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto real, auto f) {
    using T = decltype(real);
    glu<decltype(f)>(in<T>(gate), in<T>(up), out<T>(y), count);
  });
}

void lf_glu_grad(lf_rank *c, const char *what, const void *gate, const void *up, const void *dy, void *dgate, void *dup,
                 int64_t count, lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto real, auto f) {
    using T = decltype(real);
    glu_grad<decltype(f)>(in<T>(gate), in<T>(up), in<T>(dy), out<T>(dgate), out<T>(dup), count);
  });
}
