// cudnn_attention.h - attention of bfloat16 programs by cuDNN.
//
// Idea: a causal mask over positions 0 .. s - 1, as graphs of cuDNN's own operations, one for each shape. Where cuDNN
// does not serve, the kernels of attention.cuh do, with a notice.
#pragma once

#include "kernels/cuda/attention_shape.h"
#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// Issues lf_attention of a shape with s = t and positions 0 .. s - 1, and returns true; false, and a notice the first
/// time, when cuDNN is missing or has nothing for the shape. Head dims are multiples of 8 from 64 to 256; with cuDNN
/// 9.15.0 or older s must be a multiple of 128, since its backward reads beyond others.
bool cudnn_attention(lf_rank *, const char *what, const AttentionShape &, const void *q, const void *k, const void *v,
                     void *o, void *lse);
/// The same for lf_attention_grad. With CudaDevice::deterministic dq has the same bits in every run, which costs time
/// and memory; dk and dv always have.
bool cudnn_attention_grad(lf_rank *, const char *what, const AttentionShape &, const void *q, const void *k,
                          const void *v, const void *o, const void *lse, const void *d_o, void *dq, void *dk, void *dv);

/// Heads that one call of the deterministic gradient takes: whole groups, as few as keep the statistics of every call
/// on 16 bytes.
constexpr int64_t deterministic_groups(int64_t g, int64_t r) {
  const int64_t groups = r % 4 == 0 ? 1 : r % 2 == 0 ? 2 : 4;
  return g % groups == 0 ? groups : g;
}

/// Bytes of scratch (CudaDevice::scratch) of the gradient, as measured with cuDNN 9.14 and 9.19: the row sums, dq in
/// float, and dk and dv of all query heads when heads share keys; deterministic, all scores in bfloat16 instead of dq,
/// of the groups of one call; lengths count in tiles of 128. The forward takes 256 bytes.
constexpr int64_t attention_grad_scratch(const AttentionShape &n, bool deterministic) {
  const int64_t heads = n.b * n.r * (deterministic ? deterministic_groups(n.g, n.r) : n.g);
  const int64_t s = (n.s + 127) / 128 * 128, t = (n.t + 127) / 128 * 128;
  return 2 * (heads * s * 4) + heads * s * (deterministic ? t * 2 : n.d * 4) + (n.r > 1 ? heads * t * n.d * 4 : 0) +
         (int64_t(1) << 20);
}

} // namespace lf::rt
