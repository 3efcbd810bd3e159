//===- ReadModel.cpp - config.json and model.json ---------------------------===//
//
// Finds the file, dispatches on "model_type", and refuses what is left over.
//
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "lf/Model/Parameters.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace lf {

static const std::vector<std::string> supported = {"gpt2", "llama", "qwen2", "qwen3", "mistral"};
static const std::vector<std::string> planned = {
    "mixtral",     "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3", "olmoe",    "gemma", "gemma2",
    "gemma3_text", "phi3",      "gpt_oss",   "qwen3_next",  "llama4",      "glm4_moe", "olmo2", "granitemoe"};

/// Fields that say nothing about training: identity of the file, tokenizer, generation, task heads, dtype of storage.
static const std::vector<std::string> irrelevantFields = {"_name_or_path",
                                                          "architectures",
                                                          "model_type",
                                                          "transformers_version",
                                                          "torch_dtype",
                                                          "dtype",
                                                          "note",
                                                          "name",
                                                          "bos_token_id",
                                                          "eos_token_id",
                                                          "pad_token_id",
                                                          "sep_token_id",
                                                          "unk_token_id",
                                                          "decoder_start_token_id",
                                                          "tokenizer_class",
                                                          "prefix",
                                                          "model_max_length",
                                                          "use_cache",
                                                          "pretraining_tp",
                                                          "is_decoder",
                                                          "torchscript",
                                                          "use_bfloat16",
                                                          "gradient_checkpointing",
                                                          "tf_legacy_loss",
                                                          "attn_implementation",
                                                          "_attn_implementation",
                                                          "_attn_implementation_autoset",
                                                          "output_attentions",
                                                          "output_hidden_states",
                                                          "return_dict",
                                                          "return_dict_in_generate",
                                                          "output_scores",
                                                          "task_specific_params",
                                                          "problem_type",
                                                          "finetuning_task",
                                                          "id2label",
                                                          "label2id",
                                                          "num_labels",
                                                          "max_length",
                                                          "min_length",
                                                          "do_sample",
                                                          "early_stopping",
                                                          "num_beams",
                                                          "num_beam_groups",
                                                          "diversity_penalty",
                                                          "temperature",
                                                          "top_k",
                                                          "top_p",
                                                          "typical_p",
                                                          "repetition_penalty",
                                                          "length_penalty",
                                                          "no_repeat_ngram_size",
                                                          "encoder_no_repeat_ngram_size",
                                                          "bad_words_ids",
                                                          "num_return_sequences",
                                                          "chunk_size_feed_forward",
                                                          "forced_bos_token_id",
                                                          "forced_eos_token_id",
                                                          "remove_invalid_values",
                                                          "exponential_decay_length_penalty",
                                                          "suppress_tokens",
                                                          "begin_suppress_tokens",
                                                          "cross_attention_hidden_size",
                                                          "unsloth_version",
                                                          "unsloth_fixed"};

Activation readActivation(Fields &file, const std::string &key, const std::string &absent) {
  static const std::map<std::string, Activation> known = {{"silu", Activation::silu},
                                                          {"swish", Activation::silu},
                                                          {"gelu", Activation::gelu},
                                                          {"gelu_new", Activation::geluTanh},
                                                          {"gelu_pytorch_tanh", Activation::geluTanh},
                                                          {"relu", Activation::relu}};
  auto it = known.find(file.text(key, absent));
  if (it == known.end())
    throw file.error(key, R"("silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh" or "relu")");
  return it->second;
}

void setKinds(ModelConfig &model, const std::vector<int64_t> &windowOfLayer) {
  for (int64_t window : windowOfLayer) {
    LayerKind kind{window > 0 ? "decoder_sliding" : "decoder", window};
    auto it = std::find(model.kinds.begin(), model.kinds.end(), kind);
    model.kindOfLayer.push_back(static_cast<int>(it - model.kinds.begin()));
    if (it == model.kinds.end())
      model.kinds.push_back(kind);
  }
}

static std::string quoted(const std::vector<std::string> &names) {
  std::vector<std::string> out;
  for (const std::string &n : names)
    out.push_back(quote(n));
  return list(out, "or");
}

ModelConfig parseModel(const std::string &text, const std::string &where, const std::vector<std::string> &ignored) {
  const Json json = parseJson(text, where);
  if (!json.is_object())
    throw usage(where + ": expected a JSON object (a model's config.json), got " + show(json));
  Fields file(json, where, "");
  ModelConfig model;
  model.source = text;
  model.family = file.text("model_type", "");
  if (std::find(planned.begin(), planned.end(), model.family) != planned.end())
    throw file.refuse("model_type", quote(model.family) + " is not implemented yet: expected " + quoted(supported) +
                                        ", got " + quote(model.family));
  if (std::find(supported.begin(), supported.end(), model.family) == supported.end())
    throw file.error("model_type", quoted(supported));

  file.irrelevant(irrelevantFields);
  file.irrelevant(ignored);
  for (const char *off : {"add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder"})
    file.only(off, false, "only decoders are implemented");
  file.only("pruned_heads", Json::object(), "pruned heads are not implemented");
  file.irrelevant({"num_nextn_predict_layers"}); // depths of the published checkpoint; --mtp-num-layers says what is trained
  if (model.family == "gpt2")
    readGpt2(file, model);
  else
    readLlama(file, model);
  file.finish();

  // Every size fits; so must their products, gradients and moments in bytes.
  constexpr int64_t most = int64_t{1} << 50;
  long double count = 0;
  for (const std::string owner : {"embed", "head"})
    for (const Parameter &p : parametersOf(model, owner)) {
      long double n = 1;
      for (int64_t d : p.shape)
        n *= static_cast<long double>(d);
      count += n;
    }
  for (const Parameter &p : parametersOf(model, model.kinds.front().name)) {
    long double n = static_cast<long double>(model.layers);
    for (int64_t d : p.shape)
      n *= static_cast<long double>(d);
    count += n;
  }
  if (count > static_cast<long double>(most))
    throw usage(where + ": expected at most 2^50 parameters, got about " + number(static_cast<double>(count)) +
                "; check the sizes of the model file");
  return model;
}

ModelConfig readModel(const std::string &path, const std::vector<std::string> &ignored) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::string file = path;
  if (fs::is_directory(path, failed)) {
    file = (fs::path(path) / "config.json").string();
    if (!fs::exists(file, failed))
      throw usage("model " + quote(path) + ": expected a folder that holds \"config.json\", got one without");
  }
  return parseModel(readFile(file, "model"), file, ignored);
}

} // namespace lf
