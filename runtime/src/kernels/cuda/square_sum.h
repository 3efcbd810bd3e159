// square_sum.h - sums of squares that stay on the device.
//
// Idea: two stages, blocks and then one block over their parts; the order depends on the count alone.
#pragma once

#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// Issues *sum += squares of x[count], in double.
void add_square_sum(lf_rank *, const void *x, int64_t count, double *sum);

} // namespace lf::rt
