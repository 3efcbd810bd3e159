//===- token_source.cpp - The one global order of the samples -------------===//
//
// run sample n -> (file, index in that file's order) -> (epoch, sample of the file) -> tokens.
//
//===----------------------------------------------------------------------===//
#include "token_source.h"

#include "../rank.h"
#include "../text.h"
#include "permutation.h"

#include <charconv>
#include <cmath>

namespace lf::rt {

TokenSource::TokenSource(const std::vector<std::string> &paths, int64_t seq_length, int64_t global_batch, int64_t vocab,
                         bool shuffle, uint64_t seed)
    : shuffle(shuffle), seed(seed) {
  std::vector<double> weights;
  if (paths.size() > 1 && paths.size() % 2)
    throw Failure{2, "--data-path: expected one path, or pairs of a weight and a path, got " +
                         std::to_string(paths.size()) + " words"};
  if (paths.size() == 1)
    weights = {1.0};
  for (size_t i = 0; paths.size() > 1 && i < paths.size(); i += 2) {
    double weight = 0;
    auto [end, error] = std::from_chars(paths[i].data(), paths[i].data() + paths[i].size(), weight);
    if (error != std::errc() || end != paths[i].data() + paths[i].size() || !(weight > 0) || !std::isfinite(weight))
      throw Failure{2, "--data-path: expected a weight above 0 before " + quote(paths[i + 1]) + ", got " +
                           quote(paths[i])};
    weights.push_back(weight);
  }
  int64_t tokens = 0;
  for (size_t i = paths.size() == 1 ? 0 : 1; i < paths.size(); i += 2) {
    files.push_back(std::make_shared<TokenFile>(paths[i], seq_length, vocab));
    tokens += files.back()->tokens();
  }
  if (samples() < global_batch)
    throw Failure{4, "--data-path: " + quote(files[0]->path()) + ": expected at least one batch, " +
                         std::to_string(global_batch * seq_length + 1) + " tokens (global batch " +
                         std::to_string(global_batch) + " x sequence " + std::to_string(seq_length) + " + 1), got " +
                         std::to_string(tokens) + "; lower --global-batch-size or --seq-length when compiling"};
  blend.emplace(std::move(weights));
}

int64_t TokenSource::samples() const {
  int64_t sum = 0;
  for (auto &file : files)
    sum += file->samples();
  return sum;
}

void TokenSource::read(int64_t n, int32_t *out) {
  auto [source, index] = blend->at(n);
  const TokenFile &file = *files[source];
  uint64_t size = static_cast<uint64_t>(file.samples()), epoch = static_cast<uint64_t>(index) / size;
  uint64_t sample = static_cast<uint64_t>(index) % size;
  if (shuffle)
    sample = Permutation(size, seed + 0x9e3779b97f4a7c15u * source, epoch)(sample);
  file.read(static_cast<int64_t>(sample), out);
}

} // namespace lf::rt
