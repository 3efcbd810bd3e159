// activation.cu - pointwise nonlinearities, alone and as gated units, with their gradients.
//
// Idea: a function is a struct with value(x) and slope(x); the kernels are written once.
// Floors: each array once, so 2 and 3 for a function and its gradient, 3 and 5 for a gated unit.
#include "kernels/cuda/map.cuh"

using namespace lf::rt;

namespace {

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

struct Silu {
  static __device__ float value(float x) { return x * sigmoid(x); }
  static __device__ float slope(float x) {
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
  }
};

struct Gelu {
  static __device__ float distribution(float x) { return 0.5f * (1.0f + erff(x * 0.70710678118654752f)); }
  static __device__ float value(float x) { return x * distribution(x); }
  static __device__ float slope(float x) { return distribution(x) + x * 0.39894228040143268f * expf(-0.5f * x * x); }
};

/// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), written as x sigmoid(2 u).
struct GeluTanh {
  static constexpr float twice = 1.5957691216057308f, cubic = 0.044715f;
  static __device__ float value(float x) { return x * sigmoid(twice * (x + cubic * x * x * x)); }
  static __device__ float slope(float x) {
    const float s = sigmoid(twice * (x + cubic * x * x * x));
    return s + x * s * (1.0f - s) * twice * (1.0f + 3.0f * cubic * x * x);
  }
};

struct Relu {
  static __device__ float value(float x) { return x > 0.0f ? x : 0.0f; }
  static __device__ float slope(float x) { return x > 0.0f ? 1.0f : 0.0f; }
};

template <class F, class T> void activation(lf_rank *c, const char *what, const T *x, T *y, int64_t count) {
  map(
      c, what, count, [] __device__(float a) { return F::value(a); }, y, x);
}

template <class F, class T>
void activation_grad(lf_rank *c, const char *what, const T *x, const T *dy, T *dx, int64_t count) {
  map(
      c, what, count, [] __device__(float a, float da) { return da * F::slope(a); }, dx, x, dy);
}

template <class F, class T> void glu(lf_rank *c, const char *what, const T *gate, const T *up, T *y, int64_t count) {
  map(
      c, what, count, [] __device__(float a, float b) { return F::value(a) * b; }, y, gate, up);
}

/// Reads all of a pack before it writes any: dgate may be gate, dup may be up.
template <class F, int width, class T>
__device__ void glu_pack(const T *gate, const T *up, const T *dy, T *dgate, T *dup, int64_t i) {
  float a[width], b[width], slope[width], da[width], db[width];
  load(gate + i, a);
  load(up + i, b);
  load(dy + i, slope);
#pragma unroll
  for (int e = 0; e < width; ++e) {
    da[e] = slope[e] * b[e] * F::slope(a[e]);
    db[e] = slope[e] * F::value(a[e]);
  }
  store(dgate + i, da);
  store(dup + i, db);
}

template <class F, int width, class T>
__global__ void glu_gradient(const T *gate, const T *up, const T *dy, T *dgate, T *dup, int64_t count) {
  const int64_t threads = int64_t(gridDim.x) * blockDim.x, thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = thread * width; i + width <= count; i += threads * width)
    glu_pack<F, width>(gate, up, dy, dgate, dup, i);
  if (const int64_t i = count / width * width + thread; width > 1 && i < count)
    glu_pack<F, 1>(gate, up, dy, dgate, dup, i);
}

template <class F, class T>
void glu_grad(lf_rank *c, const char *what, const T *gate, const T *up, const T *dy, T *dgate, T *dup, int64_t count) {
  if (count <= 0)
    return;
  cudaStream_t stream = cuda(c).compute();
  if (aligned(gate, up, dy, dgate, dup))
    glu_gradient<F, wide><<<blocks_for(count / wide), block_threads, 0, stream>>>(gate, up, dy, dgate, dup, count);
  else
    glu_gradient<F, 1><<<blocks_for(count), block_threads, 0, stream>>>(gate, up, dy, dgate, dup, count);
  LF_LAUNCHED(what);
}

/// Calls body(F{}, T{}) with F the function of that kind and T the program's real.
template <class Body> void with_function(lf_rank *c, const char *what, lf_activation_kind kind, Body &&body) {
  with_real(c, what, [&](auto real) {
    switch (kind) {
    case LF_SILU:
      return body(Silu(), real);
    case LF_GELU:
      return body(Gelu(), real);
    case LF_GELU_TANH:
      return body(GeluTanh(), real);
    case LF_RELU:
      return body(Relu(), real);
    }
    throw Failure{2, std::string("\"") + what + "\": expected an activation kind 0 to 3, got " +
                         std::to_string(static_cast<int>(kind))};
  });
}

} // namespace

void lf_activation(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto f, auto real) {
    using T = decltype(real);
    activation<decltype(f)>(c, what, in<T>(x), out<T>(y), count);
  });
}

void lf_activation_grad(lf_rank *c, const char *what, const void *x, const void *dy, void *dx, int64_t count,
                        lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto f, auto real) {
    using T = decltype(real);
    activation_grad<decltype(f)>(c, what, in<T>(x), in<T>(dy), out<T>(dx), count);
  });
}

void lf_glu(lf_rank *c, const char *what, const void *gate, const void *up, void *y, int64_t count,
            lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto f, auto real) {
    using T = decltype(real);
    glu<decltype(f)>(c, what, in<T>(gate), in<T>(up), out<T>(y), count);
  });
}

void lf_glu_grad(lf_rank *c, const char *what, const void *gate, const void *up, const void *dy, void *dgate, void *dup,
                 int64_t count, lf_activation_kind kind) {
  with_function(c, what, kind, [&](auto f, auto real) {
    using T = decltype(real);
    glu_grad<decltype(f)>(c, what, in<T>(gate), in<T>(up), in<T>(dy), out<T>(dgate), out<T>(dup), count);
  });
}
