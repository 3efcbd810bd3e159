//===- token_source.h - The one global order of the samples ---------------===//
//
// Sample n of a run is a function of (files, weights, seed, n) alone: no rank, no plan and no cache file takes part.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "blend.h"
#include "token_file.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lf::rt {

/// A copy reads the same open files; each rank has one, since a blend remembers where it is.
class TokenSource {
public:
  /// `paths`: one path, or weight path weight path ... Throws Failure 4 as TokenFile does, or when all files together
  /// hold less than one batch; Failure 2 for a blend without its weights.
  TokenSource(const std::vector<std::string> &paths, int64_t seq_length, int64_t global_batch, int64_t vocab,
              bool shuffle, uint64_t seed);

  /// Writes the seq_length + 1 ids of the run's sample n; past the end of a file it starts again at its sample 0 (when
  /// shuffled: in another order). Throws Failure 4 at an id outside the vocabulary.
  void read(int64_t n, int32_t *out);

  /// Samples of one pass over the data (of a blend: over all files).
  int64_t samples() const;

private:
  std::vector<std::shared_ptr<TokenFile>> files;
  std::optional<Blend> blend;
  bool shuffle;
  uint64_t seed;
};

} // namespace lf::rt
