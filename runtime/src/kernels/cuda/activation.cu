// activation.cu - pointwise nonlinearities, alone and as gated units, with their gradients.
//
// Idea: a function is a struct with value(x) and slope(x); the kernels are written once.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

__device__ Real sigmoid(Real x) { return Real(1) / (Real(1) + expf(-x)); }

struct Silu {
  static __device__ Real value(Real x) { return x * sigmoid(x); }
  static __device__ Real slope(Real x) {
    const Real s = sigmoid(x);
    return s * (Real(1) + x * (Real(1) - s));
  }
};

struct Gelu {
  static __device__ Real distribution(Real x) { return Real(0.5) * (Real(1) + erff(x * Real(0.70710678118654752))); }
  static __device__ Real value(Real x) { return x * distribution(x); }
  static __device__ Real slope(Real x) {
    return distribution(x) + x * Real(0.39894228040143268) * expf(Real(-0.5) * x * x);
  }
};

/// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u).
struct GeluTanh {
  static constexpr Real twice = Real(1.5957691216057308), cubic = Real(0.044715);
  static __device__ Real value(Real x) { return x * sigmoid(twice * (x + cubic * x * x * x)); }
  static __device__ Real slope(Real x) {
    const Real s = sigmoid(twice * (x + cubic * x * x * x));
    return s + x * s * (Real(1) - s) * twice * (Real(1) + Real(3) * cubic * x * x);
  }
};

struct Relu {
  static __device__ Real value(Real x) { return x > Real(0) ? x : Real(0); }
  static __device__ Real slope(Real x) { return x > Real(0) ? Real(1) : Real(0); }
};

template <class F> void activation(lf_rank *c, const char *what, const Real *x, Real *y, int64_t count) {
  for_each(c, what, count, [=] __device__(int64_t i) { y[i] = F::value(x[i]); });
}

template <class F>
void activation_grad(lf_rank *c, const char *what, const Real *x, const Real *dy, Real *dx, int64_t count) {
  for_each(c, what, count, [=] __device__(int64_t i) { dx[i] = dy[i] * F::slope(x[i]); });
}

template <class F> void glu(lf_rank *c, const char *what, const Real *gate, const Real *up, Real *y, int64_t count) {
  for_each(c, what, count, [=] __device__(int64_t i) { y[i] = F::value(gate[i]) * up[i]; });
}

template <class F>
void glu_grad(lf_rank *c, const char *what, const Real *gate, const Real *up, const Real *dy, Real *dgate, Real *dup,
              int64_t count) {
  for_each(c, what, count, [=] __device__(int64_t i) {
    dgate[i] = dy[i] * up[i] * F::slope(gate[i]);
    dup[i] = dy[i] * F::value(gate[i]);
  });
}

/// Calls body(F{}) with F the function of that kind.
template <class Body> void with_function(const char *what, lf_activation_kind kind, Body &&body) {
  switch (kind) {
  case LF_SILU:
    return body(Silu());
  case LF_GELU:
    return body(Gelu());
  case LF_GELU_TANH:
    return body(GeluTanh());
  case LF_RELU:
    return body(Relu());
  }
  throw Failure{2, std::string("\"") + what + "\": expected an activation kind 0 to 3, got " +
                       std::to_string(static_cast<int>(kind))};
}

} // namespace

void lf_activation(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_activation_kind kind) {
  with_function(what, kind, [&](auto f) { activation<decltype(f)>(c, what, in(x), out(y), count); });
}

void lf_activation_grad(lf_rank *c, const char *what, const void *x, const void *dy, void *dx, int64_t count,
                        lf_activation_kind kind) {
  with_function(what, kind, [&](auto f) { activation_grad<decltype(f)>(c, what, in(x), in(dy), out(dx), count); });
}

void lf_glu(lf_rank *c, const char *what, const void *gate, const void *up, void *y, int64_t count,
            lf_activation_kind kind) {
  with_function(what, kind, [&](auto f) { glu<decltype(f)>(c, what, in(gate), in(up), out(y), count); });
}

void lf_glu_grad(lf_rank *c, const char *what, const void *gate, const void *up, const void *dy, void *dgate, void *dup,
                 int64_t count, lf_activation_kind kind) {
  with_function(what, kind,
                [&](auto f) { glu_grad<decltype(f)>(c, what, in(gate), in(up), in(dy), out(dgate), out(dup), count); });
}
