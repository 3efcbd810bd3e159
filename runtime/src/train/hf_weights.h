//===- hf_weights.h - A Hugging Face folder, matched with the program -----===//
//
// All names, shapes and types are checked before the first rank starts; ranks then fill their shards from the
// files, a block at a time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "safetensors.h"
#include "shard.h"

namespace lf::rt {

class HfWeights {
public:
  /// Throws Failure 4: as SafetensorsFolder, or tensors that are missing (listed), unexpected (listed), of a wrong
  /// shape or type, a tied "lm_head.weight" (or a copy of embedding or head beside a depth of multi-token prediction)
  /// that differs from its original. Names match with or without a leading
  /// "model." or "transformer."; GPT-2's mask buffers and rotary frequencies are ignored, and so are depths of multi-token prediction
  /// behind those of the program.
  HfWeights(const std::string &folder, const lf_program &);

  /// Fills the parameter arena's shard of a piece; padding becomes zero. A piece that may be absent, and is, is
  /// initialised.
  void load(lf_rank &, const Piece &) const;
  /// Optional tensors that the folder lacks, by the program's name.
  const std::vector<std::string> &absent() const { return without; }
  /// Depths of multi-token prediction that the folder has and the program has not: not read.
  int64_t ignored_depths() const { return ignored; }

private:
  SafetensorsFolder folder;
  std::map<std::string, const StoredTensor *> by_name; ///< by the program's name
  std::vector<std::string> without;
  int64_t ignored = 0;
};

} // namespace lf::rt
