// adamw_of_step.h - the update whose rate and scale lie on the device.
#pragma once

#include "kernels/kernels.h"

namespace lf::rt {

/// As adamw, with lr, step and grad_scale from CudaDevice::sums() when the kernel runs, not from `a`; changes nothing
/// when the step's loss or norm is not finite.
void adamw_of_step(lf_rank *, void *p, void *rounded, const void *g, void *m, void *v, int64_t count,
                   const AdamwParameters &a);

} // namespace lf::rt
