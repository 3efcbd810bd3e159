//===- MtpParametersTest.cpp - Parameters of multi-token prediction --------===//
//
// Names and shapes as published checkpoints have them: one more layer index a depth, embedding and head shared.
//
//===----------------------------------------------------------------------===//
#include "lf/Model/Parameters.h"
#include "lf/Support/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace lf;

namespace {

ModelConfig qwen3(int64_t depths) {
  ModelConfig m =
      parseModel(R"({"model_type": "qwen3", "num_hidden_layers": 4, "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 320, "max_position_embeddings": 128})",
                 "test");
  m.mtpDepths = depths;
  return m;
}

TEST(MtpParameters, OneMoreLayerIndexADepth) {
  ModelConfig m = qwen3(2);
  std::vector<Parameter> all = parametersOf(m, "mtp");
  std::vector<std::string> depth1;
  for (const Parameter &p : all) {
    EXPECT_TRUE(p.optional) << p.name;
    EXPECT_EQ(p.hfName.find("%d"), std::string::npos) << p.name;
    if (p.hfName.starts_with("model.layers.5."))
      depth1.push_back(p.hfName.substr(std::string("model.layers.5.").size()));
    else
      EXPECT_TRUE(p.hfName.starts_with("model.layers.4.")) << p.hfName;
  }
  EXPECT_EQ(all.size(), 2 * depth1.size());
  EXPECT_EQ(depth1, (std::vector<std::string>{
                        "enorm.weight", "hnorm.weight", "eh_proj.weight", "eh_proj.weight", "input_layernorm.weight",
                        "self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                        "self_attn.q_norm.weight", "self_attn.k_norm.weight", "self_attn.o_proj.weight",
                        "post_attention_layernorm.weight", "mlp.gate_proj.weight", "mlp.up_proj.weight",
                        "mlp.down_proj.weight", "shared_head.norm.weight"}));
}

TEST(MtpParameters, EmbeddingHalfOfTheProjectionComesFirst) {
  std::vector<Parameter> all = parametersOf(qwen3(1), "mtp");
  auto find = [&](const std::string &name) {
    return *std::find_if(all.begin(), all.end(), [&](const Parameter &p) { return p.name == name; });
  };
  Parameter e = find("mtp0_e_proj"), h = find("mtp0_h_proj");
  EXPECT_EQ(e.hfRow, 0);
  EXPECT_EQ(h.hfRow, 64);
  for (const Parameter &p : {e, h}) {
    EXPECT_EQ(p.hfRows, 128);
    EXPECT_EQ(p.shape, (std::vector<int64_t>{64, 64}));
    EXPECT_TRUE(p.hfTransposed);
    EXPECT_TRUE(p.decay);
  }
}

TEST(MtpParameters, TheFinalNormLeavesTheHead) {
  EXPECT_EQ(parametersOf(qwen3(0), "head").size(), 2u);
  EXPECT_EQ(parametersOf(qwen3(1), "head").size(), 1u);
  ASSERT_EQ(parametersOf(qwen3(1), "final").size(), 1u);
  EXPECT_EQ(parametersOf(qwen3(1), "final")[0].hfName, "model.norm.weight");
  EXPECT_THROW(parametersOf(qwen3(0), "final"), Error);
  EXPECT_THROW(parametersOf(qwen3(0), "mtp"), Error);
}

TEST(MtpParameters, Count) {
  // enorm, hnorm, shared_head.norm, eh_proj, and one decoder layer
  int64_t layer = (parameterCount(qwen3(0)) - 2 * 320 * 64 - 64) / 4;
  EXPECT_EQ(parameterCount(qwen3(1)) - parameterCount(qwen3(0)), 3 * 64 + 128 * 64 + layer);
  EXPECT_EQ(parameterCount(qwen3(2)) - parameterCount(qwen3(1)), 3 * 64 + 128 * 64 + layer);
}

} // namespace
