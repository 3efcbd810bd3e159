// map.cuh - y[i] = f(x[i], ...) over dense arrays of any types.
//
// Idea: bound by memory: a thread moves whole packs, and the elements beyond the last of them one by one.
#pragma once

#include "kernels/cuda/launch.cuh"

namespace lf::rt {

template <class T, int width> struct Pack {
  __device__ explicit Pack(const T *p) { load(p, x); }
  float x[width];
};

template <int width, class F, class Y, class... P> __device__ void map_pack(F f, Y *y, const P &...p) {
  float value[width];
#pragma unroll
  for (int e = 0; e < width; ++e)
    value[e] = f(p.x[e]...);
  store(y, value);
}

template <int width, class F, class Y, class... X> __global__ void map_kernel(int64_t count, F f, Y *y, const X *...x) {
  const int64_t threads = int64_t(gridDim.x) * blockDim.x, thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = thread * width; i + width <= count; i += threads * width)
    map_pack<width>(f, y + i, Pack<X, width>(x + i)...);
  if (const int64_t i = count / width * width + thread; width > 1 && i < count)
    map_pack<1>(f, y + i, Pack<X, 1>(x + i)...);
}

/// y[i] = f(x[i]...) for i in [0, count), f of floats; y may be one of x.
template <class F, class Y, class... X>
void map(lf_rank *c, const char *what, int64_t count, F f, Y *y, const X *...x) {
  if (count <= 0)
    return;
  cudaStream_t stream = cuda(c).compute();
  if (aligned(y, x...))
    map_kernel<wide><<<blocks_for(count / wide), block_threads, 0, stream>>>(count, f, y, x...);
  else
    map_kernel<1><<<blocks_for(count), block_threads, 0, stream>>>(count, f, y, x...);
  LF_LAUNCHED(what);
}

} // namespace lf::rt
