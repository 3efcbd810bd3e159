//===- ModelConfig.h - A decoder model, free of its file's spelling -------===//
//
// What a Hugging Face config.json says, with every default filled in and every contradiction refused. Nothing here
// depends on a parallel plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lf {

enum class Norm { rms, layer };
enum class Activation { silu, gelu, geluTanh, relu };

/// One kind of decoder layer. Layers of one kind share one body in the IR.
struct LayerKind {
  std::string name;       ///< "decoder", "decoder_sliding"; unique in the model, an identifier
  int64_t window = 0;     ///< sliding-window attention: keys at distance >= window are hidden; 0: none
  bool operator==(const LayerKind &) const = default;
};

struct ModelConfig {
  std::string family;     ///< model_type: "gpt2", "llama", "qwen3", "qwen2", "mistral"
  std::string source;     ///< the config.json as it was read (for --save-hf)

  int64_t layers = 0, hidden = 0, ffn = 0;
  int64_t heads = 0, kvHeads = 0, headDim = 0;   ///< kvHeads divides heads
  int64_t vocab = 0;                             ///< without padding
  int64_t maxPositions = 0;

  Norm norm = Norm::rms;
  double normEps = 1e-5;
  Activation activation = Activation::silu;
  bool gated = true;              ///< down(act(gate) * up), else down(act(up))
  bool qkvBias = false, outBias = false, mlpBias = false;
  bool qkNorm = false;            ///< RMS norm of each query and key head before the rotary embedding
  bool learnedPositions = false;  ///< GPT-2; else rotary
  std::vector<double> invFreq;    ///< headDim / 2 rotary frequencies, scaling (llama3) applied
  double ropeScale = 1.0;         ///< factor on cosines and sines
  double attentionScale = 0.0;    ///< softmax scale, already resolved (1/sqrt(headDim) by default)
  bool tied = false;              ///< the head is the embedding
  double ropeTheta = 0.0;         ///< base of the frequencies, before scaling; 0 with learned positions
  double hiddenDropout = 0.0;     ///< after both blocks of a layer, and after the embedding
  double embeddingDropout = 0.0;  ///< after the embedding as the file says; resolvePlan refuses one that differs
  double attentionDropout = 0.0;
  double initStd = 0.02;

  int64_t mtpDepths = 0; ///< depths of multi-token prediction; a flag decides (--mtp-num-layers), not the file

  std::vector<LayerKind> kinds;   ///< distinct kinds
  std::vector<int> kindOfLayer;   ///< index into kinds, one for each layer
};

/// Reads MODEL: a config.json, a folder that holds one, or our own model.json. Throws lf::Error (exit 2) that names the
/// JSON pointer, what was expected, what was found. Fields that are implemented or known to be irrelevant to training
/// pass, as do those named in `ignored` (--ignore-config-field); any other field is an error.
ModelConfig readModel(const std::string &path, const std::vector<std::string> &ignored = {});

/// The same for text in memory; `where` names it in messages.
ModelConfig parseModel(const std::string &text, const std::string &where,
                       const std::vector<std::string> &ignored = {});

} // namespace lf
