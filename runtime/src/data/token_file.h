//===- token_file.h - One stream of token ids -----------------------------===//
//
// A headerless little-endian .bin, or a Megatron prefix whose .idx says how wide its .bin is; either way one stream in
// which sample i is the S + 1 tokens from i * S on. Invariant: what the file claims was checked when it was opened.
// Ranks that are threads share one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "open_file.h"

#include <memory>

namespace lf::rt {

class TokenFile {
public:
  /// `path` is a .bin, or a prefix beside which .bin and .idx lie. A headerless file has 16-bit ids, or 32-bit ids when
  /// `vocab` is above 65536. Throws Failure 4: missing, a folder, a size that is not a multiple of the id's, a .idx
  /// that is malformed (with the byte offset) or disagrees with its .bin, fewer than seq_length + 1 tokens.
  TokenFile(const std::string &path, int64_t seq_length, int64_t vocab);

  int64_t tokens() const { return count; }
  int64_t samples() const { return (count - 1) / seq_length; }
  const std::string &path() const { return bin->path; }

  /// Writes the seq_length + 1 ids of sample i. Throws Failure 4 with file, byte offset, sample and position at an id
  /// outside [0, vocab), and when the file has become shorter.
  void read(int64_t sample, int32_t *out) const;

private:
  void read_index(const std::string &path);
  std::unique_ptr<OpenFile> bin;
  int64_t seq_length, vocab, count = 0;
  int width = 2; ///< bytes of an id
};

} // namespace lf::rt
