//===- PlanJsonTest.cpp - plan.json out and in ------------------------------===//
//
// What is written reads back as the same plan; flags win over the file; mistakes are named by pointer.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PlanJson.h"
#include "Compile.h"

using namespace lf;

namespace {

class PlanJsonTest : public CompileTest {
protected:
  /// Writes `text` as a plan and passes it with the flags of `line`.
  ParallelPlan with(const Json &plan, const std::string &line = "") {
    return compile("--plan " + write("plan.json", plan.dump()) + " " + line).plan;
  }
  std::string refused(const std::string &text, const std::string &line = "") {
    std::string path = write("plan.json", text), message = refusal("--plan " + path + " " + line);
    return message.starts_with(path) ? "plan.json" + message.substr(path.size()) : message;
  }
};

TEST_F(PlanJsonTest, HasTheStableMembersInOrder) {
  Json json = planJson(plan("--tp 2 --pp 2 --dp 2 --global-batch-size 16 --sequence-parallel"), model);
  std::vector<std::string> names;
  for (const auto &[name, value] : json.items())
    names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"version", "model", "sizes", "layout", "micro_batches", "schedule", "options"}));
  EXPECT_EQ(json["sizes"].dump(), R"({"tp":2,"pp":2,"cp":1,"ep":1,"etp":1,"dp":2,"vpp":1,"world":8})");
  EXPECT_EQ(json["layout"], "Et*2|t*2L");
  EXPECT_EQ(json["micro_batches"], 8);
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_EQ(json["model"]["layers"], 4);
}

TEST_F(PlanJsonTest, ReadsBackAsTheSamePlan) {
  for (const char *line :
       {"", "--tp 2 --pp 2 --dp 2 --global-batch-size 16 --sequence-parallel", "--pp 3 --layout Et|t*2|tL --fp64",
        "--pp 2 --vpp 2 --global-batch-size 4", "--pp 2 --pipeline-schedule zb-v --global-batch-size 4",
        "--pp 2 --decoder-first-pipeline-num-layers 1 --seq-length 64 --micro-batch-size 4 --pipeline-schedule gpipe",
        "--tp 8 --make-vocab-size-divisible-by 1 --hidden-dropout 0.25 --deterministic-mode --memory-budget 1000000"}) {
    ParallelPlan first = plan(line);
    Json json = planJson(first, model);
    ParallelPlan second = with(json);
    EXPECT_EQ(planJson(second, model).dump(), json.dump()) << line;
    EXPECT_EQ(second.layout, first.layout) << line;
    EXPECT_EQ(second.seqLength, first.seqLength) << line;
    EXPECT_EQ(second.dtype, first.dtype) << line;
    EXPECT_EQ(second.hiddenDropout, first.hiddenDropout) << line;
    EXPECT_EQ(second.sequenceParallel, first.sequenceParallel) << line;
    EXPECT_EQ(second.memoryBudget, first.memoryBudget) << line;
  }
}

// With several chunks on a rank, 1F1B is the interleaved order: the plan says so, and forgets it with the chunks.
TEST_F(PlanJsonTest, SaysWhichOrderRuns) {
  Json json = planJson(plan("--pp 2 --vpp 2 --global-batch-size 4"), model);
  EXPECT_EQ(json["schedule"], "interleaved");
  EXPECT_EQ(with(json, "--vpp 1").schedule, "1f1b");
  EXPECT_EQ(with(planJson(plan("--pp 2 --pipeline-schedule zb-v --global-batch-size 4"), model), "--pipeline-schedule 1f1b").vpp, 1);
  EXPECT_EQ(plan("--pp 2 --layout Et|t|t|tL --global-batch-size 4").schedule, "interleaved");
  EXPECT_EQ(plan("--pp 2 --vpp 2 --pipeline-schedule gpipe --global-batch-size 4").schedule, "gpipe");
  Json stated = planJson(plan("--pp 2 --vpp 2 --pipeline-schedule interleaved --global-batch-size 4"), model);
  EXPECT_EQ(refused(stated.dump(), "--vpp 1"), "expected at least 2 chunks on a rank (--vpp) for the interleaved schedule, got 1; with one chunk use --pipeline-schedule 1f1b");
}

TEST_F(PlanJsonTest, FlagsWinOverTheFile) {
  Json json = planJson(plan("--tp 2 --pp 2 --dp 2 --global-batch-size 16 --fp64"), model);
  ParallelPlan p = with(json, "--pp 4 --dp 1 --fp32 --global-batch-size 3");
  EXPECT_EQ(p.pp, 4);
  EXPECT_EQ(p.tp, 2);
  EXPECT_EQ(p.dp, 1);
  EXPECT_EQ(p.dtype, Dtype::f32);
  EXPECT_EQ(p.layout, "") << "a derived layout follows the sizes";
  EXPECT_EQ(p.globalBatch, 3);
  EXPECT_EQ(with(json, "--world-size 4").dp, 1);
}

TEST_F(PlanJsonTest, APlanWrittenByHandMayBeShort) {
  ParallelPlan p = with(Json::parse(R"({"version": 1, "sizes": {"tp": 2}, "micro_batches": 6, "layout": "Ett|ttL",
                                        "options": {"sequence-parallel": true, "micro_batch_size": 2}})"
                                    ""),
                        "--pp 2 --layout Ettt|tL");
  EXPECT_EQ(p.tp, 2);
  EXPECT_TRUE(p.sequenceParallel);
  EXPECT_EQ(p.globalBatch, 12);
  EXPECT_EQ(p.layout, "Ettt|tL");
  EXPECT_EQ(with(Json::parse(R"({"version": 1, "sizes": {"pp": 2}, "layout": "Ettt|tL"})")).layout, "Ettt|tL");
}

TEST_F(PlanJsonTest, MistakesAreNamedByPointer) {
  EXPECT_EQ(refused("{}"), "plan.json: \"/version\": expected 1, got nothing");
  EXPECT_EQ(refused(R"({"version": 2})"), "plan.json: \"/version\": expected 1, got 2");
  EXPECT_EQ(refused(R"({"version": 1, "sizes": {"tp": "two"}})"),
            "plan.json: \"/sizes/tp\": expected an integer from 1 to 2147483647, got \"two\"");
  EXPECT_EQ(refused(R"({"version": 1, "sizes": {"zp": 2}})"),
            "plan.json: \"/sizes/zp\": expected one of tp, pp, cp, ep, etp, dp, vpp and world, got \"zp\"");
  EXPECT_EQ(refused(R"({"version": 1, "sizes": {"tp": 2, "dp": 2, "world": 8}})"),
            "plan.json: \"/sizes/world\": expected 4 (tp x pp x cp x dp), got 8");
  EXPECT_EQ(refused(R"({"version": 1, "sizes": {"pp": 2, "vpp": 2}, "layout": "Ettt|tL"})"),
            "plan.json: \"/sizes/vpp\": expected 1, as many stages a pipeline rank as the file's layout has, got "
            "2; mend one of the two");
  EXPECT_EQ(refused(R"({"version": 1, "options": {"recompute-granularity": "full"}})"),
            "plan.json: \"/options/recompute-granularity\" is not implemented yet; remove it");
  EXPECT_EQ(refused(R"({"version": 1, "options": {"sequence-paralel": "true"}})"),
            "plan.json: \"/options/sequence-paralel\": expected a plan flag, got \"sequence-paralel\"; did you mean "
            "\"sequence-parallel\"?");
  EXPECT_EQ(refused(R"({"version": 1, "options": {"output": "x"}})"),
            "plan.json: \"/options/output\": expected a plan flag, got \"output\"");
  EXPECT_EQ(refused(R"({"version": 1, "schedule": 3})"), "plan.json: \"/schedule\": expected a string, got 3");
  EXPECT_EQ(refused(R"({"version": 1, "model": {"layers": 8}})"),
            "plan.json: \"/model/layers\": expected 4 as the model file says, got 8");
  EXPECT_EQ(refused(R"({"version": 1, "micro_batches": 0})"),
            "plan.json: \"/micro_batches\": expected an integer from 1 to 2147483647, got 0");
  EXPECT_EQ(refused("{"),
            "plan.json: expected JSON, got a mistake at line 1, column 2: unexpected end of input; expected "
            "string literal");
  EXPECT_EQ(refusal("--plan /nowhere.json"),
            "\"--plan\" \"/nowhere.json\": No such file or directory; expected a readable file");
}

} // namespace
