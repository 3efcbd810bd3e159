// dropout_key.h - what makes the mask of one use of dropout, for the kernels of every device.
//
// Idea: one Philox call on (step, layer, site) under the seed makes the key of this use; under that key the counter
// (channel / 4, position, sample) gives the words of four channels. No rank or shard enters, so any plan, and the
// backward, sees the same mask.
#pragma once

#include "comm/mesh.h"
#include "kernels/philox.h"
#include "rank.h"

#include <algorithm>
#include <cstdint>

namespace lf::rt {

inline PhiloxKey key_of_use(const lf_rank *c, int32_t site) {
  const uint64_t step = static_cast<uint64_t>(c->step.step);
  const PhiloxCounter use = {static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32),
                             static_cast<uint32_t>(c->at.layer), static_cast<uint32_t>(site)};
  const PhiloxCounter words = philox(use, {static_cast<uint32_t>(c->seed), static_cast<uint32_t>(c->seed >> 32)});
  return {words[0], words[1]};
}

/// Number in the step of the sample in column 0 here, which is column `b_offset` of the whole micro-batch.
inline int64_t first_sample(const lf_rank *c, int64_t b_offset) {
  const int64_t whole = c->program->micro_batch * group_size(*c->program, c->program->dp);
  return std::max(0, c->at.micro_batch) * whole + b_offset;
}

} // namespace lf::rt
