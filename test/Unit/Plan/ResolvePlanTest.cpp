//===- ResolvePlanTest.cpp - A plan against its model -----------------------===//
//
// Derived numbers, and every refusal with its arithmetic.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"

using namespace lf;

namespace {

class ResolvePlanTest : public CompileTest {
protected:
  void gpt2() {
    json = Json::parse(R"({"model_type": "gpt2", "n_layer": 4, "n_embd": 64, "n_head": 4, "n_positions": 64,
                           "vocab_size": 320, "attn_pdrop": 0.0})");
  }
};

TEST_F(ResolvePlanTest, Defaults) {
  ParallelPlan p = plan("");
  EXPECT_EQ(p.world(), 1);
  EXPECT_EQ(p.seqLength, 128);
  EXPECT_EQ(p.globalBatch, 1);
  EXPECT_EQ(p.paddedVocab, 384);
  EXPECT_EQ(p.dtype, Dtype::f32);
  EXPECT_EQ(p.schedule, "1f1b");
  EXPECT_EQ(p.layout, "");
  EXPECT_TRUE(p.options.empty());
  EXPECT_TRUE(p.notices.empty());
}

TEST_F(ResolvePlanTest, DataParallelIsDerived) {
  EXPECT_EQ(plan("--dp 3").dp, 3);
  EXPECT_EQ(plan("--world-size 16 --tp 2 --pp 2").dp, 4);
  EXPECT_EQ(plan("--world-size 16 --tp 2 --pp 2 --dp 4").dp, 4);
  EXPECT_EQ(refusal("--world-size 12 --tp 2 --pp 4"),
            "\"--world-size\": expected a multiple of 8 (tp 2 x pp 4 x cp 1), got 12 (12 % 8 = 4); use 8 or 16");
  EXPECT_EQ(refusal("--world-size 8 --tp 2 --pp 2 --dp 3"),
            "\"--dp\": expected 2 (world size 8 / (tp 2 x pp 2 x cp 1)), got 3; state one of the two");
  EXPECT_EQ(refusal("--tp 2147483647 --pp 2147483647 --dp 2147483647"),
            "expected at most 1048576 ranks, got a degree of 2147483647");
  EXPECT_EQ(refusal("--dp 2147483647"), "expected at most 1048576 ranks, got tp 1 x pp 1 x cp 1 x dp 2147483647");
}

TEST_F(ResolvePlanTest, BatchArithmetic) {
  EXPECT_EQ(plan("--micro-batch-size 2 --dp 3").globalBatch, 6);
  EXPECT_EQ(plan("--micro-batch-size 1 --dp 8 --global-batch-size 40").microBatches(), 5);
  EXPECT_EQ(
      refusal("--global-batch-size 16 --micro-batch-size 2 --dp 3"),
      "\"--global-batch-size\": expected a multiple of 6 (micro-batch 2 x dp 3), got 16 (16 % 6 = 4); use 12 or 18");
  EXPECT_EQ(refusal("--global-batch-size 4 --micro-batch-size 2 --dp 3"),
            "\"--global-batch-size\": expected a multiple of 6 (micro-batch 2 x dp 3), got 4 (4 % 6 = 4); use 6");
}

TEST_F(ResolvePlanTest, TensorParallel) {
  ParallelPlan p = plan("--tp 8 --make-vocab-size-divisible-by 1");
  EXPECT_EQ(p.tpKv, 4);
  EXPECT_EQ(p.tpRep, 2) << "4 kv heads are repeated over 8 ranks";
  EXPECT_EQ(p.paddedVocab, 320);
  p = plan("--tp 2");
  EXPECT_EQ(p.tpKv, 2);
  EXPECT_EQ(p.tpRep, 1);
  EXPECT_EQ(p.paddedVocab, 512);
  EXPECT_EQ(refusal("--tp 3"),
            "\"--tensor-model-parallel-size\": expected a divisor of the 8 heads, got 3 (8 % 3 = 2); "
            "legal sizes for this model: 1, 2, 4, 8");
  json["intermediate_size"] = 180;
  EXPECT_EQ(refusal("--tp 8"),
            "\"--tensor-model-parallel-size\": expected a divisor of the ffn size 180, got 8 (180 % 8 "
            "= 4); legal sizes for this model: 1, 2, 4");
  json["intermediate_size"] = 192;
  json["hidden_size"] = 96;
  json["num_attention_heads"] = 12;
  EXPECT_EQ(refusal("--tp 6"), "\"--tensor-model-parallel-size\": expected a multiple of the 4 kv heads, each being "
                               "repeated, got 6 (6 % 4 = 2); legal sizes for this model: 1, 2, 4, 12");
  EXPECT_EQ(refusal("--tp 3"),
            "\"--tensor-model-parallel-size\": expected a divisor of the 4 kv heads, got 3 (4 % 3 = 1"
            "); legal sizes for this model: 1, 2, 4, 12");
}

/// The legal sizes of real models, as published with them; a size must divide the ffn width besides.
TEST_F(ResolvePlanTest, LegalTensorParallelSizesOfRealModels) {
  int checked = 0;
  for (const Json &entry : parseJson(readFile(LF_TEST_DATA "/published-configs.json", "test data"), "test data")) {
    if (!entry["supported"].get<bool>())
      continue;
    ModelConfig m = parseModel(entry["config"].dump(), entry["name"]);
    for (int64_t tp = 1; tp <= 64; ++tp) {
      ParallelPlan p;
      p.tp = tp;
      p.options.emplace("attention-dropout", "0");
      bool legal = m.ffn % tp == 0, accepted = true;
      bool listed = false;
      for (const Json &size : entry["legal_tp"])
        listed |= size == tp;
      try {
        resolvePlan(p, m);
        EXPECT_EQ(p.tpKv * p.tpRep, tp);
      } catch (const Error &) {
        accepted = false;
      }
      EXPECT_EQ(accepted, legal && listed) << entry["name"] << " tp " << tp;
      ++checked;
    }
  }
  EXPECT_EQ(checked, 27 * 64);
}

TEST_F(ResolvePlanTest, SequenceParallel) {
  EXPECT_TRUE(plan("--tp 2 --sequence-parallel").sequenceParallel);
  ParallelPlan p = plan("--sequence-parallel");
  EXPECT_FALSE(p.sequenceParallel);
  EXPECT_EQ(p.notices,
            std::vector<std::string>{"sequence parallelism is off: it splits the sequence over tp, and tp is 1"});
  EXPECT_EQ(
      refusal("--tp 4 --sequence-parallel --seq-length 126"),
      "\"--seq-length\": expected a multiple of 4 (tp 4 x cp 1, under sequence parallelism), got 126 (126 % 4 = 2); "
      "use 124 or 128");
  EXPECT_EQ(plan("--tp 4 --seq-length 126").seqLength, 126);
  EXPECT_EQ(refusal("--seq-length 129"),
            "\"--seq-length\": expected at most 128 (the positions of the model file), got "
            "129; raise \"/max_position_embeddings\" to train longer");
}

TEST_F(ResolvePlanTest, Pipeline) {
  EXPECT_EQ(plan("--pp 2 --pipeline-schedule gpipe").schedule, "gpipe");
  json["num_hidden_layers"] = 30;
  EXPECT_EQ(
      refusal("--pp 4"),
      "\"--pipeline-model-parallel-size\": expected a divisor of the 30 layers when no layout is given, got 4 (30 % "
      "4 = 2); legal sizes: 1, 2, 3, 5, 6, 10, 15, 30; or state a layout: --pipeline-model-parallel-layout "
      "\"Et*7|t*8|t*8|t*7L\"");
  EXPECT_EQ(plan("--pp 4 --layout Et*7|t*8|t*8|t*7L").layout, "Et*7|t*8|t*8|t*7L");
  EXPECT_EQ(plan("--pp 4 --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split").layout,
            "Et*7|t*8|t*8|t*7L");
  EXPECT_EQ(
      refusal("--pp 4 --layout Et*7|t*8|t*8|t*7L --decoder-first-pipeline-num-layers 7"),
      "\"--layout\": expected a layout or flags for uneven splits, got both; the layout alone says how many layers "
      "each stage has");
  json["num_hidden_layers"] = 46;
  EXPECT_NE(refusal("--pp 4").find("46 % 4 = 2); legal sizes: 1, 2, 23, 46; or state a layout"), std::string::npos);
}

TEST_F(ResolvePlanTest, Dropout) {
  EXPECT_EQ(plan("--hidden-dropout 0.25").hiddenDropout, 0.25);
  json["attention_dropout"] = 0.1;
  EXPECT_EQ(refusal(""),
            "attention dropout is not implemented yet: expected 0, got 0.1 from \"/attention_dropout\" of the "
            "model file; state \"attention_dropout\": 0.0 there or pass --attention-dropout 0");
  EXPECT_EQ(plan("--attention-dropout 0").options.at("attention-dropout"), "0");
  gpt2();
  EXPECT_EQ(plan("").hiddenDropout, 0.1);
  EXPECT_EQ(plan("--hidden-dropout 0").hiddenDropout, 0.0);
  json["embd_pdrop"] = 0.0;
  EXPECT_EQ(refusal(""), "expected \"/embd_pdrop\" and \"/resid_pdrop\" of the model file to be equal, got 0 and 0.1 "
                         "(absent means 0.1); make them equal or pass --hidden-dropout");
  EXPECT_EQ(plan("--hidden-dropout 0.1").hiddenDropout, 0.1);
  EXPECT_EQ(plan("--hidden-dropout 0.1").options.count("hidden-dropout"), 1u) << "needed to accept the file again";
  json.erase("attn_pdrop");
  EXPECT_EQ(
      refusal("--hidden-dropout 0"),
      "attention dropout is not implemented yet: expected 0, got 0.1 from \"/attn_pdrop\" of the model file (absent "
      "means 0.1); state \"attn_pdrop\": 0.0 there or pass --attention-dropout 0");
  EXPECT_EQ(plan("--hidden-dropout 0 --attention-dropout 0.0").hiddenDropout, 0.0);
}

TEST_F(ResolvePlanTest, OptionsSayWhatDiffersFromDefaults) {
  using Options = std::map<std::string, std::string>;
  EXPECT_EQ(plan("--tp 2 --pp 1 --sequence-parallel --seq-length 128 --fp32 --hidden-dropout 0.0 --global-batch-size 1 "
                 "--pipeline-schedule 1f1b --make-vocab-size-divisible-by 64")
                .options,
            (Options{{"tensor-model-parallel-size", "2"},
                     {"sequence-parallel", "true"},
                     {"make-vocab-size-divisible-by", "64"}}));
  EXPECT_EQ(plan("--world-size 4 --tp 2").options,
            (Options{{"tensor-model-parallel-size", "2"}, {"data-parallel-size", "2"}}));
}

} // namespace
