// attention_shape.h - the sizes and the mask of one call of attention, as lf/runtime.h names them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lf::rt {

struct AttentionShape {
  int64_t s, t, b, g, r, d;
  float scale;
  int64_t window;
  __host__ __device__ int64_t query_stride() const { return b * g * r * d; }
  __host__ __device__ int64_t key_stride() const { return b * g * d; }
  __host__ __device__ int64_t heads() const { return b * g * r; }
};

} // namespace lf::rt
