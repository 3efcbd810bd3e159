// cudnn_attention.h - attention of bfloat16 programs by cuDNN.
//
// Idea: a causal mask over positions 0 .. s - 1, as graphs of cuDNN's own operations, one for each shape. Where cuDNN
// does not serve, the kernels of attention.cuh do, with a notice.
#pragma once

#include "kernels/cuda/attention_shape.h"
#include "lf/runtime.h"
#include "lf/scratch.h"

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

/// Bytes of scratch (CudaDevice::scratch) of the gradient: those of lf/scratch.h.
constexpr int64_t attention_grad_scratch(const AttentionShape &n, bool deterministic) {
  return lf::attention_grad_scratch(n.s, n.t, n.b, n.g, n.r, n.d, deterministic);
}

} // namespace lf::rt
