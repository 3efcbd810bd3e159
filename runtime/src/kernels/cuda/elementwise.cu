// elementwise.cu - copies, sums, slices and transposes of dense arrays, and reductions to one number.
//
// Floor of each: its arrays, once.
#include "kernels/cuda/map.cuh"

using namespace lf::rt;

namespace {

constexpr int most_terms = 16; ///< of one launch

template <class T> struct Terms {
  const T *x[most_terms];
  int32_t count;
};

template <class T> void accumulate(lf_rank *c, const char *what, const T *x, T *y, int64_t count) {
  map(
      c, what, count, [] __device__(float a, float b) { return a + b; }, y, static_cast<const T *>(y), x);
}

template <int width, class T> __device__ void add_terms(const Terms<T> &terms, T *y, int64_t i) {
  float sum[width];
  load(terms.x[0] + i, sum);
  for (int32_t t = 1; t < terms.count; ++t) {
    float x[width];
    load(terms.x[t] + i, x);
#pragma unroll
    for (int e = 0; e < width; ++e)
      sum[e] += x[e];
  }
  store(y + i, sum);
}

template <int width, class T> __global__ void add_terms_kernel(Terms<T> terms, T *y, int64_t count) {
  const int64_t threads = int64_t(gridDim.x) * blockDim.x, thread = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t i = thread * width; i + width <= count; i += threads * width)
    add_terms<width>(terms, y, i);
  if (const int64_t i = count / width * width + thread; width > 1 && i < count)
    add_terms<1>(terms, y, i);
}

template <class T> void sum(lf_rank *c, const char *what, const void *const *xs, int32_t terms, T *y, int64_t count) {
  if (count <= 0)
    return;
  // More terms than one launch takes: the sum so far is the first term of the next.
  for (int32_t first = 0; first < terms;) {
    Terms<T> some{};
    if (first > 0)
      some.x[some.count++] = y;
    bool packs = aligned(y);
    while (some.count < most_terms && first < terms) {
      packs = packs && aligned(in<T>(xs[first]));
      some.x[some.count++] = in<T>(xs[first++]);
    }
    if (packs)
      add_terms_kernel<wide><<<blocks_for(count / wide), block_threads, 0, cuda(c).compute()>>>(some, y, count);
    else
      add_terms_kernel<1><<<blocks_for(count), block_threads, 0, cuda(c).compute()>>>(some, y, count);
    LF_LAUNCHED(what);
  }
}

/// body(Unit{}) with the largest unit of which x, y and runs of `bytes` consist.
template <class Body> void with_unit(const void *x, const void *y, int64_t bytes, Body &&body) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) | static_cast<uintptr_t>(bytes);
  if (all % 16 == 0)
    return body(uint4{});
  if (all % 4 == 0)
    return body(uint32_t{});
  body(uint16_t{});
}

/// y[i, e] = x[(i % inside) * near + i / inside * far, e], in runs of `run` units. Index holds all unit numbers.
template <class Index, class Unit>
void move_as(lf_rank *c, const char *what, const Unit *x, Unit *y, int64_t count, Index inside, int64_t near,
             int64_t far, Index run) {
  for_each(c, what, count * int64_t(run), [=] __device__(int64_t at) {
    const Index i = static_cast<Index>(at) / run, e = static_cast<Index>(at) % run;
    y[at] = x[(int64_t(i % inside) * near + int64_t(i / inside) * far) * int64_t(run) + int64_t(e)];
  });
}

template <class Unit>
void move(lf_rank *c, const char *what, const void *x, void *y, int64_t count, int64_t inside, int64_t near,
          int64_t far, int64_t bytes) {
  const int64_t run = bytes / static_cast<int64_t>(sizeof(Unit));
  if (count <= 0 || run <= 0)
    return;
  if (count * run < int64_t(1) << 31) // 32-bit division is four times as fast
    move_as<uint32_t>(c, what, in<Unit>(x), out<Unit>(y), count, static_cast<uint32_t>(inside), near, far,
                      static_cast<uint32_t>(run));
  else
    move_as<int64_t>(c, what, in<Unit>(x), out<Unit>(y), count, inside, near, far, run);
}

int64_t size_of(const char *what, lf_dtype type) {
  int64_t size = 0;
  with_type(what, type, [&](auto real) { size = sizeof real; });
  return size;
}

} // namespace

void lf_copy(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type) {
  if (count > 0)
    LF_CUDA(cudaMemcpyAsync(y, x, static_cast<size_t>(count * size_of(what, type)), cudaMemcpyDeviceToDevice,
                            cuda(c).compute()));
}

void lf_zero(lf_rank *c, const char *what, void *y, int64_t count, lf_dtype type) {
  if (count > 0)
    LF_CUDA(cudaMemsetAsync(y, 0, static_cast<size_t>(count * size_of(what, type)), cuda(c).compute()));
}

void lf_fill(lf_rank *c, const char *what, void *y, double value, int64_t count) {
  const float main = static_cast<float>(value);
  map(
      c, what, count, [=] __device__() { return main; }, out<float>(y));
}

void lf_broadcast(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  const float *from = in<float>(x);
  map(
      c, what, count, [=] __device__() { return *from; }, out<float>(y));
}

void lf_accumulate(lf_rank *c, const char *what, const void *x, void *y, int64_t count, lf_dtype type) {
  with_type(what, type, [&](auto real) {
    using T = decltype(real);
    accumulate(c, what, in<T>(x), out<T>(y), count);
  });
}

void lf_sum(lf_rank *c, const char *what, const void *const *xs, int32_t terms, void *y, int64_t count, lf_dtype type) {
  if (terms == 0)
    return lf_zero(c, what, y, count, type);
  with_type(what, type, [&](auto real) {
    using T = decltype(real);
    sum(c, what, xs, terms, out<T>(y), count);
  });
}

void lf_slice(lf_rank *c, const char *what, const void *x, void *y, int64_t outer, int64_t parts, int64_t inner,
              int64_t index, lf_dtype type) {
  const int64_t bytes = inner * size_of(what, type);
  const void *first = in<char>(x) + index * bytes;
  with_unit(first, y, bytes, [&](auto unit) {
    move<decltype(unit)>(c, what, first, y, outer, std::max<int64_t>(outer, 1), parts, 0, bytes);
  });
}

void lf_transpose(lf_rank *c, const char *what, const void *x, void *y, int64_t a, int64_t b, int64_t inner,
                  lf_dtype type) {
  const int64_t bytes = inner * size_of(what, type);
  with_unit(x, y, bytes, [&](auto unit) { move<decltype(unit)>(c, what, x, y, a * b, a, b, 1, bytes); });
}

void lf_sum_all(lf_rank *c, const char *what, const void *x, void *y, int64_t count) {
  const float *from = in<float>(x);
  float *to = out<float>(y);
  for_rows(c, what, 1, [=] __device__(int64_t) {
    const double sum = block_sum(count, [=](int64_t i) { return from[i]; });
    if (threadIdx.x == 0)
      *to = static_cast<float>(sum);
  });
}

void lf_count(lf_rank *c, const char *what, const int32_t *labels, void *y, int64_t count) {
  float *to = out<float>(y);
  for_rows(c, what, 1, [=] __device__(int64_t) {
    const double sum = block_sum(count, [=](int64_t i) { return labels[i] >= 0 ? 1.0 : 0.0; });
    if (threadIdx.x == 0)
      *to = static_cast<float>(sum);
  });
}
