//===- region_norm.h - This rank's share of the global gradient norm ------===//
//
// Every gradient element counts once in the world: a region counts on the ranks whose index is 0 on each axis that does
// not split it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <cstdint>
#include <vector>

namespace lf::rt {

/// True when the rank at these coordinates (one for each axis) counts the region's squares.
bool counts_region(const lf_program &, const lf_region &, const std::vector<int32_t> &coordinates);

/// Adds the squares of the regions that count here to the step's sum; the gradients are synchronised and unscaled.
void add_region_squares(lf_rank &);

} // namespace lf::rt
