//===- ShrinkTest.cpp - The small model is split as the large one is --------===//
//
// Sizes shrink; which dims are split, repeated and padded, and which layers stand where, does not change.
//
//===----------------------------------------------------------------------===//
#include "Shrink.h"
#include <gtest/gtest.h>

using namespace lf;

namespace {

const char *const llama70b =
    R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64,
  "num_key_value_heads": 8, "num_hidden_layers": 80, "vocab_size": 128256, "max_position_embeddings": 8192, "rms_norm_eps": 1e-5})";
const char *const qwen =
    R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
  "num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 28, "vocab_size": 151936, "max_position_embeddings": 40960,
  "rms_norm_eps": 1e-6, "use_sliding_window": true, "sliding_window": 4096, "max_window_layers": 14, "tie_word_embeddings": true})";
const char *const gpt2 =
    R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "n_ctx": 1024,
  "vocab_size": 50257, "attn_pdrop": 0.0})";

Shrunk of(const char *file, ParallelPlan plan) {
  ModelConfig model = parseModel(file, "test");
  resolvePlan(plan, model);
  return shrink(model, plan);
}

TEST(Shrink, KeepsRepeatedKvHeads) {
  ParallelPlan plan;
  plan.tp = 16; // 8 kv heads: each is on two ranks
  plan.pp = 4;
  plan.dp = 8;
  plan.globalBatch = 512;
  plan.sequenceParallel = true;
  Shrunk s = of(llama70b, plan);
  EXPECT_EQ(s.plan.tpKv, 8);
  EXPECT_EQ(s.plan.tpRep, 2);
  EXPECT_EQ(s.model.layers, 8);
  EXPECT_LE(s.model.hidden, 512);
  EXPECT_EQ(s.plan.pp, 4);
  EXPECT_TRUE(s.plan.sequenceParallel);
  EXPECT_EQ(s.plan.dp, 2); // 64 x 2 ranks: dp is what is lowered
  EXPECT_GT(s.plan.paddedVocab, s.model.vocab);
  EXPECT_EQ(s.single.world(), 1);
  EXPECT_EQ(s.single.globalBatch, s.plan.globalBatch);
  EXPECT_EQ(s.single.microBatches(), s.plan.microBatches());
}

TEST(Shrink, KeepsChunksAndSchedules) {
  ParallelPlan plan;
  plan.pp = 4;
  plan.vpp = 2;
  plan.globalBatch = 64;
  Shrunk s = of(llama70b, plan);
  EXPECT_EQ(s.plan.vpp, 2);
  EXPECT_EQ(s.model.layers, 16);
  EXPECT_EQ(s.plan.microBatches(), 8); // two groups of pp
  EXPECT_EQ(s.single.vpp, 1);
  plan.schedule = "zb-v";
  s = of(llama70b, plan);
  EXPECT_EQ(s.plan.schedule, "zb-v");
  EXPECT_EQ(s.single.schedule, "1f1b");
  plan.schedule = "1f1b";
  plan.groupSize = 6;
  plan.globalBatch = 64; // 10 groups of 6 and one of 4
  EXPECT_EQ(of(llama70b, plan).plan.microBatches(), 10);
}

TEST(Shrink, KeepsBothKindsOfLayersAndWidths) {
  ParallelPlan plan;
  plan.tp = 2;
  Shrunk s = of(qwen, plan);
  EXPECT_EQ(s.model.kindOfLayer, (std::vector<int>{0, 1}));
  EXPECT_GT(s.model.kinds[1].window, 0);
  EXPECT_LT(s.model.kinds[1].window, s.plan.seqLength); // so that the window acts
  EXPECT_NE(s.model.hidden, s.model.heads * s.model.headDim);
  EXPECT_TRUE(s.model.tied);
  EXPECT_TRUE(s.model.qkNorm);
}

TEST(Shrink, KeepsAWidthThatTpDivides) {
  ParallelPlan plan;
  plan.tp = 3;
  ModelConfig model = parseModel(
      R"({"model_type": "qwen3", "hidden_size": 96, "intermediate_size": 48, "num_attention_heads": 6, "num_key_value_heads": 3,
  "head_dim": 8, "num_hidden_layers": 2, "vocab_size": 61, "max_position_embeddings": 64, "rms_norm_eps": 1e-6})", "test");
  model.mtpDepths = 1; // its projection splits the width
  resolvePlan(plan, model);
  Shrunk s = shrink(model, plan);
  EXPECT_EQ(s.model.hidden, 48 + 18);
  EXPECT_EQ(s.model.heads * s.model.headDim, 48);
}

TEST(Shrink, KeepsMoreTokensThanDepths) {
  ParallelPlan plan;
  plan.pp = 2;
  plan.seqLength = 4096;
  ModelConfig model = parseModel(llama70b, "test");
  model.mtpDepths = 16; // the most there are
  resolvePlan(plan, model);
  Shrunk s = shrink(model, plan);
  EXPECT_EQ(s.model.mtpDepths, 16);
  EXPECT_EQ(s.plan.seqLength, 20);
}

TEST(Shrink, KeepsAnUnevenLayout) {
  ParallelPlan plan;
  plan.pp = 3;
  plan.layout = "Et|t*7|t*4L";
  Shrunk s = of(gpt2, plan);
  EXPECT_EQ(s.plan.layout, "Et|tt|ttL");
  EXPECT_EQ(s.model.layers, 5);
  EXPECT_TRUE(s.model.learnedPositions);
  EXPECT_EQ(s.plan.hiddenDropout, 0.1);
}

} // namespace
