// round.h - from main to real.
#pragma once

#include "lf/runtime.h"

#include <cuda_bf16.h>

#include <cstdint>

namespace lf::rt {

/// Issues y[count] = x[count], rounded to nearest even.
void round_to_real(lf_rank *, const char *what, const float *x, __nv_bfloat16 *y, int64_t count);

} // namespace lf::rt
