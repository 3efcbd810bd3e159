//===- step_sums.h - Loss, norm and scale of a step, of the sums of all ranks ===//
//
// The same arithmetic wherever the sums lie.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../rank.h"
#include "lf/sent_bytes.h"

#include <cstdint>

namespace lf::rt {

/// Factor of the gradients in the update: the clip factor over the number of labels. `clip` 0: no clipping.
/// `norm`: of the gradient of the mean loss.
#ifdef __CUDACC__
__host__ __device__
#endif
inline double scale_of(double clip, double norm, double labels) {
  const double factor = clip > 0.0 ? clip / (norm + 1e-6) : 1.0;
  return (factor < 1.0 ? factor : 1.0) / labels;
}

/// Sets loss, grad_norm, grad_scale and stop of lf_rank::step from the sums over all ranks of loss, labels, squares of the
/// gradients and wishes to stop. `number_of_step`: from 1. Throws Failure 6 when loss or norm is not finite.
void accept_sums(lf_rank &, const double sums[4], int64_t number_of_step);

/// Counts in the metrics a sum of `doubles` over all ranks, which no call of the program states.
void count_sums(lf_rank &, int64_t doubles);

} // namespace lf::rt
