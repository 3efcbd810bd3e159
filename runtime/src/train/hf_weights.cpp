//===- hf_weights.cpp - A Hugging Face folder, matched with the program ---===//
//
// See hf_weights.h.
//
//===----------------------------------------------------------------------===//
#include "hf_weights.h"

#include "device.h"
#include "initial_weights.h"
#include "real.h"
#include "text.h"

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
      for (int64_t i = 0, n = copy.shape[0] * copy.shape[1]; i < n; ++i)
        if (copy.value(i) != original->value(i))
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
    with_values(stored.type, [&](auto convert) {
      const unsigned char *bytes = stored.bytes();
      shard.runs([&](int64_t at, int64_t element, int64_t step, int64_t length) {
        for (int64_t i = 0; i < length; ++i) {
          const double value = static_cast<double>(convert(bytes, element + i * step));
          if (!std::isfinite(value))
            throw Failure{4, "--load: tensor " + quote(piece.hf_name()) + ", element " +
                                 std::to_string(element + i * step) + ": expected a finite number, got " +
                                 std::to_string(value)};
          host[static_cast<size_t>(at + i)] = static_cast<Real>(value);
        }
      });
    });
    Real *arena = static_cast<Real *>(lf_arena(&c, LF_MASTER)) + piece.offset;
    copy_to_device(c, arena, host.data(), shard.count * static_cast<int64_t>(sizeof(Real)));
  });
}

} // namespace lf::rt
