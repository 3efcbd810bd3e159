//===- Llama.cpp - Llama, Qwen2, Qwen3 and Mistral --------------------------===//
//
// One decoder with four sets of defaults. The differences are the biases, the q/k norm, the size of a head and which
// layers have a sliding window.
//
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "lf/Support/Text.h"

#include <cmath>

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }

static void readHeads(Fields &file, ModelConfig &model) {
  model.heads = file.size("num_attention_heads", maxHeads);
  // Absent, Hugging Face means the number of heads in llama files, and a fixed number (8 or 32) in the others'.
  if (!file.has("num_key_value_heads") && model.family != "llama")
    throw file.error("num_key_value_heads", "an integer that divides the " + plain(model.heads) +
                                                " heads (required in " + quote(model.family) + " files)");
  model.kvHeads = file.sizeIf("num_key_value_heads", maxHeads).value_or(model.heads);
  if (model.heads % model.kvHeads != 0)
    throw file.error("num_key_value_heads",
                     "a divisor of the " + plain(model.heads) + " heads (one of " + list(divisors(model.heads)) + ")");
  if (model.family == "qwen3" && !file.has("head_dim")) {
    model.headDim = 128; // as Hugging Face does
  } else if (auto given = file.sizeIf("head_dim", maxHeadDim)) {
    model.headDim = *given;
  } else {
    if (model.hidden % model.heads != 0)
      throw file.refuse("num_attention_heads", "expected a divisor of \"/hidden_size\" " + plain(model.hidden) +
                                                   " when \"/head_dim\" is not given, got " + plain(model.heads) +
                                                   " (" + plain(model.hidden) + " % " + plain(model.heads) + " = " +
                                                   plain(model.hidden % model.heads) + ")");
    model.headDim = model.hidden / model.heads;
  }
  if (model.headDim > maxHeadDim || model.headDim % 2 != 0)
    throw file.refuse("head_dim", "expected an even number up to " + plain(maxHeadDim) +
                                      " (rotary channels come in pairs), got " + plain(model.headDim));
  model.attentionScale = 1.0 / std::sqrt(static_cast<double>(model.headDim));
}

/// The window of each layer, 0 for none (Qwen).
static std::vector<int64_t> qwenWindows(Fields &file, const ModelConfig &model) {
  auto layers = static_cast<size_t>(model.layers);
  bool on = file.flag("use_sliding_window", false);
  int64_t window = file.has("sliding_window") ? file.sizeIf("sliding_window", maxWidth).value_or(0) : 4096;
  int64_t from = file.has("max_window_layers") ? file.sizeIf("max_window_layers", maxLayers, 0).value_or(0) : 28;
  if (on && window == 0)
    throw file.error("use_sliding_window", "false while \"/sliding_window\" is null");
  std::vector<int64_t> windows(layers, 0);
  const Json *types = file.take("layer_types");
  if (!types) {
    for (size_t i = 0; i < layers; ++i)
      windows[i] = on && static_cast<int64_t>(i) >= from ? window : 0;
    return windows;
  }
  if (!types->is_array() || types->size() != layers)
    throw file.error("layer_types", "an array of " + plain(model.layers) + " (\"/num_hidden_layers\")");
  for (size_t i = 0; i < layers; ++i) {
    const Json &type = (*types)[i];
    const std::string at = "expected \"full_attention\" or \"sliding_attention\", got " + show(type);
    Fields entry(*types, file.where, file.pointer + "/layer_types");
    if (type == "sliding_attention") {
      if (!on)
        throw entry.refuse(std::to_string(i), "expected \"full_attention\" while \"/use_sliding_window\" is false, got "
                                              "\"sliding_attention\"");
      windows[i] = window;
    } else if (type != "full_attention") {
      throw entry.refuse(std::to_string(i), at);
    }
  }
  return windows;
}

void readLlama(Fields &file, ModelConfig &model) {
  const std::string &family = model.family;
  bool qwen = family == "qwen2" || family == "qwen3";
  model.layers = file.size("num_hidden_layers", maxLayers);
  model.hidden = file.size("hidden_size", maxWidth);
  model.ffn = file.size("intermediate_size", maxWidth);
  model.vocab = file.size("vocab_size", maxWidth);
  model.maxPositions = file.size("max_position_embeddings", maxWidth);
  readHeads(file, model);

  model.norm = Norm::rms;
  model.normEps = file.real("rms_norm_eps", 1e-6, 0.0, 1.0);
  model.activation = readActivation(file, "hidden_act", "silu");
  model.gated = true;
  model.tied = file.flag("tie_word_embeddings", false);
  model.attentionDropout = file.real("attention_dropout", 0.0, 0.0, 0.99);
  model.initStd = file.real("initializer_range", 0.02, 0.0, 100.0);

  if (family == "llama" || family == "qwen3") {
    model.qkvBias = model.outBias = file.flag("attention_bias", false);
  } else {
    model.qkvBias = family == "qwen2";
    file.only("attention_bias", model.qkvBias, "what " + quote(family) + " models have");
  }
  if (family == "llama")
    model.mlpBias = file.flag("mlp_bias", false);
  else
    file.only("mlp_bias", false, quote(family) + " models have none");
  model.qkNorm = family == "qwen3";
  if (model.qkNorm)
    file.only("qk_norm", "per head, size head_dim", "this family's norm of queries and keys");
  file.only("position_embedding", "rope", "this family's positions");
  readRope(file, model);
  file.only("partial_rotary_factor", 1.0, "a partial rotary embedding is not implemented");
  file.only("use_mrope", false, "not implemented");

  std::vector<int64_t> windows(static_cast<size_t>(model.layers), 0);
  if (qwen) {
    windows = qwenWindows(file, model);
  } else if (family == "mistral") {
    // Absent, Hugging Face means 4096; null means none.
    int64_t window = file.has("sliding_window") ? file.sizeIf("sliding_window", maxWidth).value_or(0) : 4096;
    windows.assign(windows.size(), window);
  } else {
    file.only("sliding_window", nullptr, "this family has none");
    file.only("use_sliding_window", false, "this family has none");
  }
  setKinds(model, windows);
}

} // namespace lf
