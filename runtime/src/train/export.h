//===- export.h - Whole tensors from the shards of all ranks --------------===//
//
// Tensor by tensor and in pieces of bounded size, the ranks that speak for a shard send it to rank 0, which writes. All
// ranks call these together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "shard.h"

#include <string>

namespace lf::rt {

/// model.safetensors (float32, or float64 when the program is) and config.json in `folder`, true vocabulary.
void save_hf(lf_rank &, const std::string &folder);

/// gradients.safetensors in `folder`: the gradient arena times `scale`, under the same names and shapes.
void dump_gradients(lf_rank &, const std::string &folder, double scale);

} // namespace lf::rt
