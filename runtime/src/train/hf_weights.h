//===- hf_weights.h - A Hugging Face folder, matched with the program -----===//
//
// All names, shapes and types are checked before the first rank starts; ranks then fill their shards from the mapped
// files.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "safetensors.h"
#include "shard.h"

namespace lf::rt {

class HfWeights {
public:
  /// Throws Failure 4: as SafetensorsFolder, or tensors that are missing (listed), unexpected (listed), of a wrong
  /// shape or type, a tied "lm_head.weight" that differs from the embedding. Names match with or without a leading
  /// "model." or "transformer."; GPT-2's mask buffers and rotary frequencies are ignored.
  HfWeights(const std::string &folder, const lf_program &);

  /// Fills the parameter arena's shard of a piece; padding becomes zero.
  void load(lf_rank &, const Piece &) const;

private:
  SafetensorsFolder folder;
  std::map<std::string, const StoredTensor *> by_name; ///< by the program's name
};

} // namespace lf::rt
