// adamw.cu - the optimizer's update and the square sum behind the gradient norm.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/square_sum.h"
#include "kernels/kernels.h"

#include <cmath>

namespace lf::rt {

void add_square_sum(lf_rank *c, const void *x, int64_t count, double *sum) {
  if (count <= 0)
    return;
  const int64_t blocks = std::min<int64_t>((count + 4095) / 4096, 1024), part = (count + blocks - 1) / blocks;
  const Real *values = in(x);
  double *parts = cuda(c).scratch<double>(blocks);
  for_rows(c, "square_sum", blocks, [=] __device__(int64_t i) {
    const int64_t begin = i * part, length = begin + part < count ? part : count - begin;
    const double squares = block_sum(length, [=](int64_t j) {
      return static_cast<double>(values[begin + j]) * static_cast<double>(values[begin + j]);
    });
    if (threadIdx.x == 0)
      parts[i] = squares;
  });
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

void adamw(lf_rank *c, void *p, const void *g, void *m, void *v, int64_t count, AdamwParameters a) {
  const double t = static_cast<double>(a.step);
  const Real keep = static_cast<Real>(1.0 - a.lr * a.weight_decay);
  const Real rate = static_cast<Real>(a.lr / (1.0 - std::pow(a.beta1, t)));
  const Real root = static_cast<Real>(1.0 / std::sqrt(1.0 - std::pow(a.beta2, t)));
  const Real beta2 = static_cast<Real>(a.beta2);
  const Real fresh1 = static_cast<Real>(1.0 - a.beta1), fresh2 = static_cast<Real>(1.0 - a.beta2);
  const Real eps = static_cast<Real>(a.eps), scale = static_cast<Real>(a.grad_scale);
  const Real *gradient = in(g);
  Real *weight = out(p), *mean = out(m), *square = out(v);
  for_each(c, "adamw", count, [=] __device__(int64_t i) {
    const Real grad = gradient[i] * scale;
    const Real first = mean[i] + fresh1 * (grad - mean[i]);
    const Real second = beta2 * square[i] + fresh2 * grad * grad;
    mean[i] = first;
    square[i] = second;
    weight[i] = weight[i] * keep - rate * first / (sqrtf(second) * root + eps);
  });
}

} // namespace lf::rt
