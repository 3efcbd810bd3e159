// reduce.cu - reductions over the memory of several ranks, in the order of comm/reduce.h.
//
// Idea: one thread an element, which adds the sources in turn; bf16 is summed in fp32 and rounded once.
#include "device/cuda/cuda_device.h"

#include <cuda_bf16.h>

#include <algorithm>

namespace lf::rt {
namespace {

constexpr int most_sources = 256;

struct Sources {
  const void *x[most_sources];
};

// Stored: what memory holds; Sum: what is added.
template <class Stored, class Sum>
__global__ void combine(Sources from, int32_t n, Stored *y, int64_t count, bool maximum) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x) {
    Sum sum = static_cast<Sum>(static_cast<const Stored *>(from.x[0])[i]);
    for (int32_t r = 1; r < n; ++r) {
      const Sum next = static_cast<Sum>(static_cast<const Stored *>(from.x[r])[i]);
      if (!maximum)
        sum += next;
      else if (next > sum || next != next) // a NaN stays one, on whichever rank it is
        sum = next;
    }
    y[i] = static_cast<Stored>(sum);
  }
}

} // namespace

void CudaDevice::reduce(const void *const *xs, int32_t n, void *y, int64_t count, lf_dtype dtype, lf_reduction op,
                        int32_t stream) {
  if (count <= 0)
    return;
  if (n > most_sources)
    throw Failure{2, "expected a group of at most " + std::to_string(most_sources) +
                         " ranks that are threads on cuda, got " + std::to_string(n) +
                         "; start a process for each rank"};
  Sources from{};
  std::copy(xs, xs + n, from.x);
  const unsigned blocks = static_cast<unsigned>(std::min<int64_t>((count + 255) / 256, 4096));
  cudaStream_t at = this->stream(stream);
  const bool maximum = op == LF_MAX;
  if (dtype == LF_F64)
    combine<double, double><<<blocks, 256, 0, at>>>(from, n, static_cast<double *>(y), count, maximum);
  else if (dtype == LF_F32)
    combine<float, float><<<blocks, 256, 0, at>>>(from, n, static_cast<float *>(y), count, maximum);
  else
    combine<__nv_bfloat16, float><<<blocks, 256, 0, at>>>(from, n, static_cast<__nv_bfloat16 *>(y), count, maximum);
  LF_LAUNCHED("reduce");
}

} // namespace lf::rt
