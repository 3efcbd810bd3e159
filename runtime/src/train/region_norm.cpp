//===- region_norm.cpp - This rank's share of the global gradient norm ----===//
//
// See region_norm.h.
//
//===----------------------------------------------------------------------===//
#include "region_norm.h"

#include "../comm/mesh.h"
#include "device.h"
#include "real.h"

namespace lf::rt {

bool counts_region(const lf_program &program, const lf_region &region, const std::vector<int32_t> &coordinates) {
  if (region.copy || region.pp != group_index(program, coordinates, program.pp))
    return false;
  for (int32_t a = 0; a < program.num_axes; ++a)
    if (!((region.owned | program.pp) >> a & 1) && coordinates[static_cast<size_t>(a)] != 0)
      return false;
  return true;
}

void add_region_squares(lf_rank &c) {
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    for (int32_t i = 0; i < c.program->num_regions; ++i)
      if (const lf_region &region = c.program->regions[i]; counts_region(*c.program, region, c.coordinates))
        add_squares(c, static_cast<Real *>(lf_arena(&c, LF_GRADIENTS)) + region.offset, region.count);
  });
}

} // namespace lf::rt
