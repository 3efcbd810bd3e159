//===- hf_weights.cpp - A Hugging Face folder, matched with the program ---===//
//
// See hf_weights.h.
//
//===----------------------------------------------------------------------===//
#include "hf_weights.h"

#include "device.h"
#include "initial_weights.h"
#include "real.h"
#include "../text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace lf::rt {
namespace {

/// "model.layers.0.x" and "layers.0.x" are one name.
std::string bare(const std::string &name) {
  for (const char *prefix : {"model.", "transformer."})
    if (name.rfind(prefix, 0) == 0)
      return name.substr(std::string(prefix).size());
  return name;
}

bool ends_with(const std::string &name, const std::string &end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

/// Buffers that are functions of the configuration, which older files carry.
bool is_buffer(const std::string &name) {
  return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias") ||
         ends_with(name, "rotary_emb.inv_freq");
}

bool is_embedding(const std::string &name) {
  return ends_with(name, "embed_tokens.weight") || ends_with(name, "wte.weight");
}

/// The layer of "layers.7.x"; -1 for other names.
int64_t layer_of(const std::string &bare_name) {
  const std::string prefix = "layers.";
  int64_t layer = -1;
  if (bare_name.rfind(prefix, 0) == 0)
    std::from_chars(bare_name.data() + prefix.size(), bare_name.data() + bare_name.size(), layer);
  return layer;
}

constexpr int64_t block = int64_t(1) << 20; ///< elements of a file that are read at a time

/// The first of n elements in which two tensors differ; -1: none.
int64_t first_difference(const StoredTensor &a, const StoredTensor &b, int64_t n) {
  std::vector<unsigned char> mine, theirs;
  int64_t found = -1;
  for (int64_t from = 0, to; found < 0 && from < n; from = to) {
    to = std::min(n, from + block);
    a.read(from, to, mine);
    b.read(from, to, theirs);
    with_values(a.type, [&](auto left) {
      with_values(b.type, [&](auto right) {
        for (int64_t i = 0; found < 0 && i < to - from; ++i)
          if (left(mine.data(), i) != right(theirs.data(), i))
            found = from + i;
      });
    });
  }
  return found;
}

} // namespace

HfWeights::HfWeights(const std::string &path, const lf_program &program) : folder("--load", path) {
  auto refuse = [&](const std::string &name, const std::string &expected, const std::string &got) {
    throw Failure{4, "--load: " + quote(path) + ", tensor " + quote(name) + ": expected " + expected + ", got " + got};
  };
  std::map<std::string, std::string> in_folder; // bare -> as stored
  for (auto &[name, tensor] : folder.tensors)
    if (auto [other, fresh] = in_folder.try_emplace(bare(name), name); !fresh)
      refuse(name, "each tensor once", quote(other->second) + " beside it");

  std::vector<std::string> missing, unexpected;
  const StoredTensor *embedding = nullptr, *output = nullptr;
  for (const FileTensor &wanted : file_tensors(program)) {
    auto found = in_folder.find(bare(wanted.name));
    if (found == in_folder.end()) {
      (wanted.parts.front().param->optional ? without : missing).push_back(wanted.name);
      continue;
    }
    const StoredTensor &stored = folder.tensors.at(found->second);
    if (stored.shape != wanted.shape)
      refuse(found->second, "shape " + shape_text(wanted.shape), shape_text(stored.shape));
    if (stored.type == FileType::other)
      refuse(found->second, "dtype F32, F16, BF16 or F64", stored.dtype);
    by_name[wanted.name] = &stored;
    if (is_embedding(wanted.name))
      embedding = &stored;
    if (wanted.name == "lm_head.weight")
      output = &stored;
    in_folder.erase(found);
  }
  if (!missing.empty())
    throw Failure{4, "--load: " + quote(path) + ": expected tensors of the model that are missing: " +
                         name_list(missing) + ", got " + std::to_string(folder.tensors.size()) + " others"};
  std::set<int64_t> depths; // that the program lacks: layers behind its own that have such a projection
  for (auto &[name, as_stored] : in_folder)
    if (layer_of(name) >= program.layers + program.mtp_depths && ends_with(name, ".eh_proj.weight"))
      depths.insert(layer_of(name));
  ignored = static_cast<int64_t>(depths.size());
  for (auto &[name, as_stored] : in_folder) {
    if (depths.contains(layer_of(name)))
      continue;
    const StoredTensor &copy = folder.tensors.at(as_stored);
    const bool of_depth = program.mtp_depths > 0 && name.rfind("layers.", 0) == 0;
    const StoredTensor *original = nullptr;
    if (name == "lm_head.weight" || (of_depth && ends_with(name, ".embed_tokens.weight")))
      original = embedding;
    else if (of_depth && ends_with(name, ".shared_head.head.weight"))
      original = output ? output : embedding;
    if (original) {
      const std::string of = original == output ? "head" : "embedding", tied = of_depth ? "" : "tied ";
      if (copy.shape != original->shape || copy.type == FileType::other)
        refuse(as_stored, "a copy of the " + tied + of + " of shape " + shape_text(original->shape),
               copy.dtype + " of shape " + shape_text(copy.shape));
      if (int64_t i = first_difference(copy, *original, copy.shape[0] * copy.shape[1]); i >= 0)
        refuse(as_stored,
               "a copy of the " + of + ", since the model " + (of_depth ? "shares" : "ties") + " them (" +
                   number(original->value(i)) + " at element " + std::to_string(i) + ")",
               number(copy.value(i)) +
                   (of_depth ? "" : "; set \"tie_word_embeddings\" to false in config.json and compile again"));
    } else if (!is_buffer(name)) {
      unexpected.push_back(as_stored);
    }
  }
  if (!unexpected.empty())
    throw Failure{4, "--load: " + quote(path) + ": expected only tensors of the model, got also " +
                         name_list(unexpected) + "; is this the folder of config.json?"};
}

void HfWeights::load(lf_rank &c, const Piece &piece) const {
  if (!by_name.contains(piece.hf_name()))
    return initialise(c, piece);
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    const StoredTensor &stored = *by_name.at(piece.hf_name());
    Shard shard = make_shard(*c.program, *piece.param, c.coordinates);
    std::vector<Real> host(static_cast<size_t>(shard.count), Real(0));
    // The shard lies between these elements of the file; blocks of them are read in turn, and what a run has there is
    // taken.
    int64_t first = shard.base, last = shard.base + 1;
    for (int32_t d = 0; d < shard.ndim; ++d)
      last += (shard.valid[d] - 1) * shard.stride[d];
    const bool padding = std::find(shard.valid, shard.valid + shard.ndim, 0) != shard.valid + shard.ndim;
    std::vector<unsigned char> bytes;
    for (int64_t from = first, to; !padding && from < last; from = to) {
      to = std::min(last, from + block);
      stored.read(from, to, bytes);
      with_values(stored.type, [&](auto convert) {
        shard.runs([&](int64_t at, int64_t element, int64_t step, int64_t length) {
          auto reached = [&](int64_t end) {
            return end <= element ? 0 : std::min(length, (end - element + step - 1) / step);
          };
          for (int64_t i = reached(from), end = reached(to); i < end; ++i) {
            const double value = static_cast<double>(convert(bytes.data(), element + i * step - from));
            if (!std::isfinite(value))
              throw Failure{4, "--load: " + quote(stored.file->path) + ", tensor " + quote(piece.hf_name()) +
                                   ", element " + std::to_string(element + i * step) +
                                   ": expected a finite number, got " + std::to_string(value)};
            host[static_cast<size_t>(at + i)] = static_cast<Real>(value);
          }
        });
      });
    }
    Real *arena = static_cast<Real *>(lf_arena(&c, LF_MASTER)) + piece.offset;
    copy_to_device(c, arena, host.data(), shard.count * static_cast<int64_t>(sizeof(Real)));
  });
}

} // namespace lf::rt
