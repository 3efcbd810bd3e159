//===- ModelTest.cpp - What a config.json means -----------------------------===//
//
// Defaults, spellings and the rotary table of each family.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/ModelConfig.h"
#include "lf/Support/Json.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace lf;

namespace {

Json llama() {
  return Json::parse(R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 176,
    "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 320, "max_position_embeddings": 128})");
}
Json gpt2() {
  return Json::parse(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64,
    "vocab_size": 320})");
}
ModelConfig parse(const Json &json) { return parseModel(json.dump(), "config.json"); }

TEST(Model, LlamaDefaults) {
  ModelConfig m = parse(llama());
  EXPECT_EQ(m.headDim, 8);
  EXPECT_EQ(m.kvHeads, 4);
  EXPECT_EQ(m.normEps, 1e-6);
  EXPECT_EQ(m.activation, Activation::silu);
  EXPECT_TRUE(m.gated);
  EXPECT_FALSE(m.tied || m.qkvBias || m.outBias || m.mlpBias || m.qkNorm || m.learnedPositions);
  EXPECT_DOUBLE_EQ(m.attentionScale, 1 / std::sqrt(8.0));
  ASSERT_EQ(m.invFreq.size(), 4u);
  EXPECT_DOUBLE_EQ(m.invFreq[0], 1.0);
  EXPECT_NEAR(m.invFreq[1], 0.1, 1e-15);
  ASSERT_EQ(m.kinds.size(), 1u);
  EXPECT_EQ(m.kinds[0], (LayerKind{"decoder", 0}));
  EXPECT_EQ(m.kindOfLayer, std::vector<int>(4, 0));
  Json json = llama();
  json.erase("num_key_value_heads");
  EXPECT_EQ(parse(json).kvHeads, 8) << "absent: one kv head for each head";
}

TEST(Model, Gpt2DefaultsAreThoseOfHuggingFace) {
  ModelConfig m = parse(gpt2());
  EXPECT_EQ(m.ffn, 256);
  EXPECT_EQ(m.activation, Activation::geluTanh);
  EXPECT_TRUE(m.tied && m.learnedPositions && m.qkvBias && m.outBias && m.mlpBias && !m.gated);
  EXPECT_EQ(m.norm, Norm::layer);
  EXPECT_EQ(m.hiddenDropout, 0.1);
  EXPECT_EQ(m.embeddingDropout, 0.1);
  EXPECT_EQ(m.attentionDropout, 0.1);
  Json json = gpt2();
  json["n_inner"] = 100;
  json["attn_pdrop"] = 0;
  json["scale_attn_weights"] = false;
  m = parse(json);
  EXPECT_EQ(m.ffn, 100);
  EXPECT_EQ(m.attentionDropout, 0.0);
  EXPECT_EQ(m.attentionScale, 1.0);
}

TEST(Model, BothSpellingsOfRopeAreOne) {
  Json scaling = {{"rope_type", "llama3"},
                  {"factor", 32.0},
                  {"low_freq_factor", 1.0},
                  {"high_freq_factor", 4.0},
                  {"original_max_position_embeddings", 8192}};
  Json older = llama(), newer = llama();
  older["head_dim"] = newer["head_dim"] = 64;
  older["rope_theta"] = 500000.0;
  older["rope_scaling"] = scaling;
  newer["rope_parameters"] = scaling;
  newer["rope_parameters"]["rope_theta"] = 500000.0;
  ModelConfig a = parse(older), b = parse(newer);
  EXPECT_EQ(a.invFreq, b.invFreq);
  EXPECT_EQ(a.ropeTheta, 500000.0);
  // Reference values: the published llama3 formula evaluated independently for theta 5e5, 64 channels.
  ASSERT_EQ(a.invFreq.size(), 32u);
  const std::pair<int, double> expected[] = {{0, 1},
                                             {5, 0.12868737343265052},
                                             {12, 0.0072926647372171093},
                                             {15, 0.001290547928209264},
                                             {16, 0.00042955679655936815},
                                             {17, 9.7082878026276702e-05},
                                             {18, 1.9461638184831125e-05},
                                             {20, 8.5702554898814781e-06},
                                             {31, 9.41830672543491e-08}};
  for (auto [i, value] : expected)
    EXPECT_NEAR(a.invFreq[static_cast<size_t>(i)] / value, 1.0, 1e-12) << i;
  older["rope_scaling"]["type"] = "llama3";
  older["rope_scaling"].erase("rope_type");
  EXPECT_EQ(parse(older).invFreq, b.invFreq) << "the older key \"type\"";
}

TEST(Model, QwenHasItsBiasesByFamily) {
  Json json = llama();
  json["model_type"] = "qwen2";
  ModelConfig m = parse(json);
  EXPECT_TRUE(m.qkvBias);
  EXPECT_FALSE(m.outBias || m.mlpBias || m.qkNorm);
  json["model_type"] = "qwen3";
  m = parse(json);
  EXPECT_TRUE(m.qkNorm);
  EXPECT_FALSE(m.qkvBias);
  EXPECT_EQ(m.headDim, 128) << "the family's default, not hidden / heads";
}

TEST(Model, SlidingWindowsMakeLayerKinds) {
  Json json = llama();
  json["model_type"] = "qwen2";
  json["sliding_window"] = 16;
  json["max_window_layers"] = 3;
  EXPECT_EQ(parse(json).kinds.size(), 1u) << "off without use_sliding_window";
  json["use_sliding_window"] = true;
  ModelConfig m = parse(json);
  EXPECT_EQ(m.kinds, (std::vector<LayerKind>{{"decoder", 0}, {"decoder_sliding", 16}}));
  EXPECT_EQ(m.kindOfLayer, (std::vector<int>{0, 0, 0, 1}));
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  m = parse(json);
  EXPECT_EQ(m.kinds, (std::vector<LayerKind>{{"decoder_sliding", 16}, {"decoder", 0}}));
  EXPECT_EQ(m.kindOfLayer, (std::vector<int>{0, 1, 0, 1}));

  Json mistral = llama();
  mistral["model_type"] = "mistral";
  mistral["sliding_window"] = nullptr;
  EXPECT_EQ(parse(mistral).kinds, (std::vector<LayerKind>{{"decoder", 0}}));
  mistral["sliding_window"] = 32;
  EXPECT_EQ(parse(mistral).kinds, (std::vector<LayerKind>{{"decoder_sliding", 32}}));
  mistral.erase("sliding_window");
  EXPECT_EQ(parse(mistral).kinds[0].window, 4096);
}

TEST(Model, ReadsAFileOrItsFolder) {
  auto folder = std::filesystem::temp_directory_path() / ("lf-model-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << llama().dump();
  EXPECT_EQ(readModel(folder.string()).layers, 4);
  EXPECT_EQ(readModel((folder / "config.json").string()).source, llama().dump());
  std::filesystem::remove_all(folder);
}

TEST(Model, IgnoredFieldsPass) {
  Json json = llama();
  json["totally_new_field"] = 3;
  EXPECT_THROW(parse(json), std::exception);
  EXPECT_EQ(parseModel(json.dump(), "config.json", {"totally_new_field"}).layers, 4);
}

} // namespace
