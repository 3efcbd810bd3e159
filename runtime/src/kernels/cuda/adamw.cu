// adamw.cu - the optimizer's update and the square sum behind the gradient norm.
//
// Floors, in bytes an element: an update 28, and 2 more for the rounded weights; a square sum 4.
#include "kernels/cuda/adamw_of_step.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/square_sum.h"
#include "kernels/kernels.h"

#include <cmath>

namespace lf::rt {
namespace {

constexpr int64_t most_parts = 2112; ///< blocks of a square sum: two waves of eight on each of 132 processors

/// Sum of the squares of x[blockIdx.x * part, + part), in double; part is a multiple of `wide`.
template <int width> __global__ void part_squares(const float *x, int64_t count, int64_t part, double *parts) {
  const int64_t begin = blockIdx.x * part, length = begin + part < count ? part : count - begin;
  double squares = 0.0;
  const int64_t whole = length / width * width;
  for_packs<width>(x + begin, whole, [&](int64_t, const float(&a)[width]) {
#pragma unroll
    for (int e = 0; e < width; ++e)
      squares += static_cast<double>(a[e]) * static_cast<double>(a[e]);
  });
  if (const int64_t i = whole + threadIdx.x; i < length)
    squares += static_cast<double>(x[begin + i]) * static_cast<double>(x[begin + i]);
  squares = block_reduce(squares, Add());
  if (threadIdx.x == 0)
    parts[blockIdx.x] = squares;
}

struct Rates {
  float keep, rate, root, beta2, fresh1, fresh2, eps, scale;
};

/// Rates that are known when the kernel is launched.
struct KnownRates {
  Rates rates;
  __device__ bool get(Rates &r) const { return r = rates, true; }
};

/// Rates that lie on the device; none when the step's sums are not finite.
struct RatesOfStep {
  Rates constants;
  double weight_decay;
  const StepSums *sums;
  __device__ bool get(Rates &r) const {
    r = constants;
    r.keep = static_cast<float>(1.0 - sums->control.lr * weight_decay);
    r.rate = static_cast<float>(sums->control.rate);
    r.root = static_cast<float>(sums->control.root);
    r.scale = static_cast<float>(sums->scale);
    return sums->finite != 0;
  }
};

Rates constants_of(const AdamwParameters &a) {
  Rates r{};
  r.beta2 = static_cast<float>(a.beta2);
  r.fresh1 = static_cast<float>(1.0 - a.beta1);
  r.fresh2 = static_cast<float>(1.0 - a.beta2);
  r.eps = static_cast<float>(a.eps);
  return r;
}

template <int width>
__device__ void update(float *p, Bf16 *rounded, const float *g, float *m, float *v, int64_t i, const Rates &r) {
  float weight[width], grad[width], mean[width], square[width];
  load(p + i, weight);
  load(g + i, grad);
  load(m + i, mean);
  load(v + i, square);
#pragma unroll
  for (int e = 0; e < width; ++e) {
    const float slope = grad[e] * r.scale;
    mean[e] = mean[e] + r.fresh1 * (slope - mean[e]);
    square[e] = r.beta2 * square[e] + r.fresh2 * slope * slope;
    weight[e] = weight[e] * r.keep - r.rate * mean[e] / (sqrtf(square[e]) * r.root + r.eps);
  }
  store(m + i, mean);
  store(v + i, square);
  store(p + i, weight);
  if (rounded)
    store(rounded + i, weight);
}

template <int width, class Source>
__global__ void update_all(float *p, Bf16 *rounded, const float *g, float *m, float *v, int64_t count, Source source) {
  Rates r;
  if (!source.get(r))
    return;
  const int64_t threads = int64_t(gridDim.x) * blockDim.x, thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = thread * width; i + width <= count; i += threads * width)
    update<width>(p, rounded, g, m, v, i, r);
  if (const int64_t i = count / width * width + thread; width > 1 && i < count)
    update<1>(p, rounded, g, m, v, i, r);
}

} // namespace

void add_square_sum(lf_rank *c, const void *x, int64_t count, double *sum) {
  if (count <= 0)
    return;
  const int64_t most = std::min((count + 4095) / 4096, most_parts);
  const int64_t part = ((count + most - 1) / most + wide - 1) / wide * wide, blocks = (count + part - 1) / part;
  const float *values = in<float>(x);
  double *parts = cuda(c).scratch<double>(blocks);
  cudaStream_t stream = cuda(c).compute();
  if (aligned(values))
    part_squares<wide><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(values, count, part, parts);
  else
    part_squares<1><<<static_cast<unsigned>(blocks), block_threads, 0, stream>>>(values, count, part, parts);
  LF_LAUNCHED("square_sum");
  for_rows(c, "square_sum", 1, [=] __device__(int64_t) {
    const double squares = block_sum(blocks, [=](int64_t j) { return parts[j]; });
    if (threadIdx.x == 0)
      *sum += squares;
  });
}

double square_sum(lf_rank *c, const void *x, int64_t count) {
  double *device = &cuda(c).sums()->other, sum = 0.0;
  LF_CUDA(cudaMemsetAsync(device, 0, sizeof sum, cuda(c).compute()));
  add_square_sum(c, x, count, device);
  LF_CUDA(cudaMemcpyAsync(&sum, device, sizeof sum, cudaMemcpyDeviceToHost, cuda(c).compute()));
  finish(*c, 0);
  return sum;
}

namespace {

template <class Source>
void launch_update(lf_rank *c, void *p, void *rounded, const void *g, void *m, void *v, int64_t count, Source source) {
  if (count <= 0)
    return;
  float *weights = out<float>(p), *means = out<float>(m), *squares = out<float>(v);
  const float *grads = in<float>(g);
  Bf16 *copy = c->program->dtype == LF_BF16 ? out<Bf16>(rounded) : nullptr;
  cudaStream_t stream = cuda(c).compute();
  if (aligned(weights, means, squares, grads, copy))
    update_all<wide>
        <<<blocks_for(count / wide), block_threads, 0, stream>>>(weights, copy, grads, means, squares, count, source);
  else
    update_all<1><<<blocks_for(count), block_threads, 0, stream>>>(weights, copy, grads, means, squares, count, source);
  LF_LAUNCHED("adamw");
}

} // namespace

void adamw(lf_rank *c, void *p, void *rounded, const void *g, void *m, void *v, int64_t count, AdamwParameters a) {
  const double t = static_cast<double>(a.step);
  Rates r = constants_of(a);
  r.keep = static_cast<float>(1.0 - a.lr * a.weight_decay);
  r.rate = static_cast<float>(a.lr / (1.0 - std::pow(a.beta1, t)));
  r.root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(a.beta2, t)));
  r.scale = static_cast<float>(a.grad_scale);
  launch_update(c, p, rounded, g, m, v, count, KnownRates{r});
}

void adamw_of_step(lf_rank *c, void *p, void *rounded, const void *g, void *m, void *v, int64_t count,
                   const AdamwParameters &a) {
  launch_update(c, p, rounded, g, m, v, count, RatesOfStep{constants_of(a), a.weight_decay, cuda(c).sums()});
}

} // namespace lf::rt
