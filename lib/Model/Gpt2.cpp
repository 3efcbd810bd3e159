//===- Gpt2.cpp - The GPT-2 family ------------------------------------------===//
//
// What is absent means what Hugging Face means by it, dropout 0.1 included: a plan refuses what it cannot train, and
// never trains another model than the file's.
//
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "lf/Support/Text.h"

#include <cmath>

namespace lf {

void readGpt2(Fields &file, ModelConfig &model) {
  model.layers = file.sizeOneOf({"n_layer", "num_hidden_layers"}, maxLayers);
  model.hidden = file.sizeOneOf({"n_embd", "hidden_size"}, maxWidth);
  model.heads = model.kvHeads = file.sizeOneOf({"n_head", "num_attention_heads"}, maxHeads);
  model.maxPositions = file.sizeOneOf({"n_positions", "max_position_embeddings"}, maxWidth);
  model.vocab = file.size("vocab_size", maxWidth);
  model.ffn = file.sizeIf("n_inner", maxWidth).value_or(4 * model.hidden);
  file.only("n_ctx", model.maxPositions, "the number of positions, \"/n_positions\"");
  if (model.hidden % model.heads != 0)
    throw file.error(file.has("n_head") ? "n_head" : "num_attention_heads",
                     "a divisor of the hidden size " + std::to_string(model.hidden) + " (" +
                         std::to_string(model.hidden) + " % " + std::to_string(model.heads) + " = " +
                         std::to_string(model.hidden % model.heads) + ")");
  model.headDim = model.hidden / model.heads;
  if (model.headDim > maxHeadDim)
    throw file.error("n_head", "heads of at most " + std::to_string(maxHeadDim) + " channels (" +
                                   std::to_string(model.hidden) + " / " + std::to_string(model.heads) + ")");
  file.only("head_dim", model.headDim, "hidden size / heads in this family");
  file.only("num_key_value_heads", model.heads, "this family has no grouped queries");

  model.norm = Norm::layer;
  model.normEps = file.real("layer_norm_epsilon", 1e-5, 0.0, 1.0);
  model.activation = readActivation(file, "activation_function", "gelu_new");
  model.gated = false;
  model.qkvBias = model.outBias = model.mlpBias = true;
  model.learnedPositions = true;
  model.attentionScale =
      file.flag("scale_attn_weights", true) ? 1.0 / std::sqrt(static_cast<double>(model.headDim)) : 1.0;
  model.tied = file.flag("tie_word_embeddings", true);
  model.embeddingDropout = file.real("embd_pdrop", 0.1, 0.0, 0.99);
  model.hiddenDropout = file.real("resid_pdrop", 0.1, 0.0, 0.99);
  model.attentionDropout = file.real("attn_pdrop", 0.1, 0.0, 0.99);
  model.initStd = file.real("initializer_range", 0.02, 0.0, 100.0);

  file.only("attention_bias", true, "this family always has biases");
  file.only("mlp_bias", true, "this family always has biases");
  file.only("position_embedding", "learned", "this family's positions");
  file.only("scale_attn_by_inverse_layer_idx", false, "not implemented");
  file.only("reorder_and_upcast_attn", false, "not implemented");
  file.irrelevant(
      {"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"});
  setKinds(model, std::vector<int64_t>(static_cast<size_t>(model.layers), 0));
}

} // namespace lf
