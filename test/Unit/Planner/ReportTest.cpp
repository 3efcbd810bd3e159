//===- ReportTest.cpp - Numbers, tables and plan.json of a report ----------===//
//
// A hand-made report of two pipeline ranks, so that every number that is shown is known.
//
//===----------------------------------------------------------------------===//
#include "lf/Planner/PlanReport.h"
#include "lf/Support/Error.h"
#include <gtest/gtest.h>

using namespace lf;

namespace {

PlanReport sample() {
  PlanReport r;
  r.model = parseModel(R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2,
    "num_hidden_layers": 2, "vocab_size": 64, "max_position_embeddings": 32, "rms_norm_eps": 1e-6})",
                       "test");
  r.plan.pp = 2;
  r.plan.dp = 2;
  r.plan.globalBatch = 8;
  r.plan.seqLength = 32;
  r.plan.vocabMultiple = 1;
  resolvePlan(r.plan, r.model);
  for (int64_t pp : {0, 1}) {
    StageReport stage;
    stage.stage = stage.pp = pp;
    stage.items = pp == 0 ? std::vector<std::string>{"E", "t"} : std::vector<std::string>{"t", "L"};
    stage.layers = {pp};
    stage.forwardFlops = 100;
    stage.backwardFlops = 200;
    r.stages.push_back(stage);
    PipelineRankReport rank;
    rank.pp = pp;
    rank.firstRank = 2 * pp;
    rank.ranks = 2;
    rank.memory.parameters = 1024 * (pp + 1);
    rank.memory.saved = 512;
    addTraffic(rank.traffic, {"dp", "all_reduce", 1, 4096});
    r.ranks.push_back(rank);
  }
  r.problem.ranks = 2;
  r.problem.microBatches = 4;
  r.programs = {{{Pass::F, 0, 0},
                 {Pass::F, 1, 0},
                 {Pass::B, 0, 0},
                 {Pass::F, 2, 0},
                 {Pass::B, 1, 0},
                 {Pass::F, 3, 0},
                 {Pass::B, 2, 0},
                 {Pass::B, 3, 0}},
                {{Pass::F, 0, 0},
                 {Pass::B, 0, 0},
                 {Pass::F, 1, 0},
                 {Pass::B, 1, 0},
                 {Pass::F, 2, 0},
                 {Pass::B, 2, 0},
                 {Pass::F, 3, 0},
                 {Pass::B, 3, 0}}};
  return r;
}

TEST(Words, ThreeDigitsAndAUnit) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.50 KiB");
  EXPECT_EQ(bytesText(int64_t{80} << 30), "80.0 GiB");
  EXPECT_EQ(countText(8030261248.0), "8.03 B");
  EXPECT_EQ(countText(999), "999");
}

TEST(Traffic, SameAxisAndKindIsOneEntry) {
  std::vector<Traffic> list;
  addTraffic(list, {"tp", "all_gather", 2, 10});
  addTraffic(list, {"tp", "all_reduce", 1, 5});
  addTraffic(list, {"tp", "all_gather", 1, 7});
  addTraffic(list, {"dp", "all_reduce", 0, 0});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].messages, 3);
  EXPECT_EQ(list[0].bytes, 17);
}

TEST(Report, RanksThatDoTheSameShareALine) {
  std::string text = textReport(sample());
  EXPECT_NE(text.find("ranks             4 = pp 2 x dp 2 x cp 1 x tp 1"), std::string::npos) << text;
  EXPECT_NE(text.find("  0-1    0"), std::string::npos) << text;
  EXPECT_NE(text.find("2.50 KiB"), std::string::npos) << text; // peak of the second: 2048 + 512
  EXPECT_NE(text.find("tokens a step     256 = 8 x sequence 32"), std::string::npos) << text;
}

TEST(Report, HtmlIsWholeAndLoadsNothing) {
  std::string page = htmlReport(sample());
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0u);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  for (const char *from : {"src=", "href=", "http"})
    EXPECT_EQ(page.find(from), std::string::npos) << from;
}

TEST(PlanJson, OneObjectForEachRank) {
  Json plan = parseJson(planText(fullPlanJson(sample())), "plan.json");
  ASSERT_EQ(plan["memory"].size(), 4u);
  EXPECT_EQ(plan["memory"][3]["rank"], 3);
  EXPECT_EQ(plan["memory"][3]["peak"], 2560);
  EXPECT_EQ(plan["traffic"].size(), 4u);
  EXPECT_EQ(plan["traffic"][0].dump(), R"({"rank":0,"axis":"dp","kind":"all_reduce","messages":1,"bytes":4096})");
  EXPECT_EQ(plan["programs"][1][1].dump(), R"(["B",0,0])");
  EXPECT_EQ(plan["stages"][1].dump(), R"({"stage":1,"pp":1,"chunk":0,"items":["t","L"],"layers":[1]})");
  EXPECT_EQ(fullPlanJson(sample(), false)["memory"].size(), 2u);
}

TEST(Budget, NamesTheRankAndTheExcess) {
  PlanReport r = sample();
  r.plan.memoryBudget = 2560;
  EXPECT_NO_THROW(checkBudget(r, {}));
  r.plan.memoryBudget = 2000;
  try {
    checkBudget(r, {"--tensor-model-parallel-size 2"});
    FAIL() << "expected a refusal";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::doesNotFit);
    EXPECT_STREQ(error.what(),
                 "\"--memory-budget\": expected at most 2000 bytes (1.95 KiB) a rank, got 2560 (2.50 KiB) on "
                 "rank 2, 560 too many");
    EXPECT_EQ(error.notes.size(), 2u);
  }
}

// A GPU has to have what its driver takes, too: with that another rank may be the largest.
TEST(Budget, CountsTheDriver) {
  PlanReport r = sample();
  r.ranks.front().memory.driver = 1 << 20;
  const int64_t needed = r.ranks.front().memory.peak() + (1 << 20);
  EXPECT_EQ(&r.largest(), &r.ranks.front());
  r.plan.memoryBudget = needed;
  EXPECT_NO_THROW(checkBudget(r, {}));
  r.plan.memoryBudget = needed - 1;
  try {
    checkBudget(r, {});
    FAIL() << "expected a refusal";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("got " + std::to_string(needed) + " ("), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(", about 1.00 MiB of it for driver and libraries) on rank 0, 1 too many"),
              std::string::npos)
        << error.what();
  }
}

} // namespace
