// reduce.h - the arithmetic of reductions on the host.
//
// Idea: element i of y is x0[i] op x1[i] op ... in the order given. Invariant: neither the split of the range nor
// timing changes the bits; bf16 is summed in f32 and rounded once, to nearest even.
#pragma once

#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// y[count] = xs[0] op xs[1] op ... op xs[n - 1]; y may be one of xs.
void reduce_in_order(const void *const *xs, int32_t n, void *y, int64_t count, lf_dtype, lf_reduction);

} // namespace lf::rt
