//===- RandomModel.cpp - A small model of any family ------------------------===//
//
// See RandomModel.h.
//
//===----------------------------------------------------------------------===//
#include "RandomModel.h"

namespace lf::test {

static void gpt2(Dice &dice, RandomModel &m, int64_t heads) {
  Json &c = m.config;
  double dropout = dice.percent(40) ? 0.15 : 0.0;
  c["n_layer"] = m.layers;
  c["n_head"] = heads;
  c["n_embd"] = heads * dice.between(2, 7);
  c["n_inner"] = m.tp * dice.of<int64_t>({1, 2, 3, 5});
  c["n_positions"] = m.seqLength + dice.between(0, 3);
  c["activation_function"] = dice.of<std::string>({"gelu_new", "gelu", "relu"});
  c["resid_pdrop"] = dropout;
  c["embd_pdrop"] = dropout;
  c["attn_pdrop"] = 0.0;
}

static void decoder(Dice &dice, RandomModel &m, const std::string &family, int64_t kvHeads, int64_t queries) {
  Json &c = m.config;
  c["num_hidden_layers"] = m.layers;
  c["num_attention_heads"] = kvHeads * queries;
  c["num_key_value_heads"] = kvHeads;
  c["head_dim"] = dice.of<int64_t>({2, 4, 6, 10});
  c["hidden_size"] = dice.between(7, 37);
  c["intermediate_size"] = m.tp * dice.of<int64_t>({1, 2, 3, 5});
  c["max_position_embeddings"] = 4096;
  c["rms_norm_eps"] = 1e-5;
  c["hidden_act"] = dice.of<std::string>({"silu", "silu", "gelu"});
  m.dropout = dice.percent(25) ? 0.2 : 0.0;
  if (family == "llama") {
    c["attention_bias"] = dice.percent(40);
    c["mlp_bias"] = dice.percent(40);
    if (dice.percent(50))
      c["rope_scaling"] = {{"rope_type", "llama3"},
                           {"factor", 8.0},
                           {"low_freq_factor", 1.0},
                           {"high_freq_factor", 4.0},
                           {"original_max_position_embeddings", 16}};
  } else if (family == "mistral") {
    c["sliding_window"] = dice.between(1, m.seqLength - 1);
  } else {
    if (family == "qwen3")
      c["attention_bias"] = dice.percent(30);
    if (dice.percent(40)) { // two kinds of layers, unless all have the window
      c["use_sliding_window"] = true;
      c["sliding_window"] = dice.between(1, m.seqLength - 1);
      c["max_window_layers"] = dice.between(0, m.layers - 1);
    }
  }
}

RandomModel randomModel(Dice &dice) {
  RandomModel m;
  const auto family = dice.of<std::string>({"gpt2", "gpt2", "llama", "llama", "qwen3", "qwen2", "mistral"});
  m.tp = dice.of<int64_t>({2, 2, 2, 4, 4, 4, 4, 8, 6, 3, 5, 1});
  m.layers = dice.between(1, 5);
  // kv heads x copies = tp, or a multiple of tp.
  int64_t copies = family == "gpt2" ? 1 : dice.of<int64_t>({1, 1, 2, 4});
  // Every divisor of tp has to divide the kv heads or be a multiple of them: with copies, only powers of two are sure.
  if (m.tp % copies != 0 || m.tp % 3 == 0)
    copies = 1;
  int64_t kvHeads = m.tp / copies * (copies == 1 ? dice.between(1, 2) : 1);
  int64_t queries = copies * dice.between(1, m.tp > 4 ? 1 : 3);
  m.seqLength = dice.percent(15) ? dice.of<int64_t>({7, 9, 11, 13}) : m.tp * (dice.between(8, 16) / m.tp + 1);
  m.columns = dice.of<int64_t>({1, 2, 2, 2, 3, 4, 4, 4, 6, 8});
  m.microBatches = dice.between(2, 6);
  m.vocabMultiple = dice.of<int64_t>({1, 2, 4, 8});

  m.config["model_type"] = family;
  m.config["vocab_size"] = dice.between(11, 61);
  m.config["tie_word_embeddings"] = dice.percent(50);
  m.config["initializer_range"] = dice.of<double>({0.02, 0.1, 0.3});
  if (family == "gpt2")
    gpt2(dice, m, kvHeads);
  else
    decoder(dice, m, family, kvHeads, queries);
  if (family != "gpt2" && dice.percent(35)) { // it needs a rotary embedding
    m.mtp = dice.between(1, 2);
    m.mtpFactor = dice.of<double>({0.1, 0.3, 1.5});
    m.config["hidden_size"] = m.tp * (m.config["hidden_size"].get<int64_t>() / m.tp + 1); // what its projection splits
  }
  return m;
}

} // namespace lf::test
