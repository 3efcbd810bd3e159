//===- MtpTest.cpp - Flags of multi-token prediction ------------------------===//
//
// What is refused, and where the depths stand when no layout is stated.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "lf/Plan/PlanJson.h"

using namespace lf;

namespace {

using MtpTest = CompileTest;

TEST_F(MtpTest, IsOffUnlessAsked) {
  EXPECT_EQ(layoutText(plan("--pp 2"), model), "Et*2|t*2L");
  EXPECT_EQ(model.mtpDepths, 0);
}

// What a published checkpoint has beside the model says nothing about what is trained.
TEST_F(MtpTest, DepthsOfTheModelFileAreNotTakenOver) {
  json["num_nextn_predict_layers"] = 1;
  plan("--pp 2");
  EXPECT_EQ(model.mtpDepths, 0);
  plan("--pp 2 --mtp-num-layers 2");
  EXPECT_EQ(model.mtpDepths, 2);
}

TEST_F(MtpTest, StandsBeforeTheLoss) {
  ParallelPlan p = plan("--pp 2 --mtp-num-layers 1");
  EXPECT_EQ(model.mtpDepths, 1);
  EXPECT_EQ(p.mtpFactor, 0.1);
  EXPECT_EQ(p.options.at("mtp-num-layers"), "1");
  EXPECT_FALSE(p.options.contains("mtp-loss-scaling-factor"));
  EXPECT_EQ(layoutText(p, model), "Et*2|t*2mL");
  p = plan("--pp 2 --mtp-num-layers 2 --mtp-loss-scaling-factor 0.3 --decoder-first-pipeline-num-layers 1");
  EXPECT_EQ(p.mtpFactor, 0.3);
  EXPECT_EQ(layoutText(p, model), "Et|t*3m*2L");
}

TEST_F(MtpTest, ALayoutSaysWhere) {
  EXPECT_EQ(refusal("--pp 4 --mtp-num-layers 1 --layout Ett|tt|m|L"), "accepted");
  EXPECT_EQ(layoutText(plan("--pp 4 --mtp-num-layers 1 --layout Ett|tt|m|L"), model), "Ett|tt|m|L");
}

TEST_F(MtpTest, Refusals) {
  EXPECT_EQ(refusal("--mtp-num-layers -1"),
            R"("--mtp-num-layers": expected an integer from 0 to 16, got "-1")");
  EXPECT_EQ(refusal("--mtp-num-layers 17"), R"("--mtp-num-layers": expected an integer from 0 to 16, got "17")");
  EXPECT_EQ(refusal("--mtp-num-layers 1 --mtp-loss-scaling-factor -0.5"),
            R"("--mtp-loss-scaling-factor": expected a number from 0 to 3.4e38, the largest of float32, got "-0.5")");
  for (const char *value : {"inf", "nan", "1e40", "1e400", "x", "0.1x"})
    EXPECT_EQ(refusal(std::string("--mtp-num-layers 1 --mtp-loss-scaling-factor ") + value),
              R"("--mtp-loss-scaling-factor": expected a number from 0 to 3.4e38, the largest of float32, got ")" +
                  std::string(value) + "\"");
  EXPECT_EQ(
      refusal("--mtp-num-layers 4 --seq-length 4"),
      R"("--mtp-num-layers": expected fewer depths than the 4 tokens of a sample, got 4, which would leave depth 3 )"
      R"(without labels; lower it or raise --seq-length)");
  EXPECT_EQ(refusal("--mtp-num-layers 3 --seq-length 4"), "accepted");
  json["hidden_size"] = 66;
  json["head_dim"] = 8;
  EXPECT_EQ(refusal("--mtp-num-layers 1 --tp 4"),
            R"("--tensor-model-parallel-size": expected a divisor of the hidden size 66, which the projection of a depth of )"
            R"(multi-token prediction splits, got 4 (66 % 4 = 2))");
  EXPECT_EQ(refusal("--tp 4"), "accepted");
  json = Json::parse(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64,
    "vocab_size": 320, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0})");
  EXPECT_EQ(refusal("--mtp-num-layers 1"),
            R"("--mtp-num-layers": expected 0 for a model with learned positions (family "gpt2"), got 1; multi-token )"
            R"(prediction needs a rotary embedding)");
}

TEST_F(MtpTest, AFactorWithoutDepthsIsSaid) {
  EXPECT_EQ(plan("--mtp-loss-scaling-factor 0.3").notices,
            std::vector<std::string>{"\"--mtp-loss-scaling-factor\" has no effect: it weights the losses of multi-token "
                                     "prediction, and --mtp-num-layers is 0"});
  EXPECT_TRUE(plan("--mtp-loss-scaling-factor 0.3 --mtp-num-layers 1").notices.empty());
  EXPECT_EQ(plan("--mtp-num-layers 1 --mtp-loss-scaling-factor 1e-310").mtpFactor, 1e-310) << "small, but a number";
}

TEST_F(MtpTest, PlanJsonKeepsIt) {
  ParallelPlan p = plan("--pp 2 --mtp-num-layers 2 --mtp-loss-scaling-factor 0.3");
  std::string path = write("plan.json", planJson(p, model).dump());
  ParallelPlan again = plan("--plan " + path);
  EXPECT_EQ(model.mtpDepths, 2);
  EXPECT_EQ(again.mtpFactor, 0.3);
  EXPECT_EQ(planJson(again, model)["layout"], "Et*2|t*2m*2L");
}

} // namespace
