// kernels.h - the kernels that only the training loop calls, beside those of lf/runtime.h.
//
// Idea: kernels/cpu and kernels/cuda both define every function here, and a program links one of them. Arrays are
// dense, main (lf/runtime.h) unless said otherwise, and one run of an arena.
#pragma once

#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// One AdamW update, as PyTorch's: g *= grad_scale; p *= 1 - lr * weight_decay; m and v are the running means of g and
/// g^2; p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
struct AdamwParameters {
  double lr = 0.0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double weight_decay = 0.0; ///< 0 where the parameter does not decay
  double grad_scale = 1.0;   ///< clip factor / token count
  int64_t step = 1;          ///< t: the first update is 1; it must not be below 1
};

/// Sum of the squares of x[count], accumulated in double, in an order that depends on count alone.
double square_sum(lf_rank *, const void *x, int64_t count);

/// Updates p, m and v [count] in place from the unscaled gradient g [count]. In a bfloat16 program `rounded` [count],
/// real, becomes p rounded to nearest even; else it is not read.
void adamw(lf_rank *, void *p, void *rounded, const void *g, void *m, void *v, int64_t count, AdamwParameters);

} // namespace lf::rt
