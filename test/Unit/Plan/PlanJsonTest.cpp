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
  EXPECT_EQ(
      with(planJson(plan("--pp 2 --pipeline-schedule zb-v --global-batch-size 4"), model), "--pipeline-schedule 1f1b")
          .vpp,
      1);
  EXPECT_EQ(plan("--pp 2 --layout Et|t|t|tL --global-batch-size 4").schedule, "interleaved");
  EXPECT_EQ(plan("--pp 2 --vpp 2 --pipeline-schedule gpipe --global-batch-size 4").schedule, "gpipe");
  Json stated = planJson(plan("--pp 2 --vpp 2 --pipeline-schedule interleaved --global-batch-size 4"), model);
  EXPECT_EQ(
      refused(stated.dump(), "--vpp 1"),
      R"("--pipeline-schedule": expected at least 2 chunks on a rank (--vpp) for "interleaved", got 1; with one chunk use "1f1b")");
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

// Where "layout" and the options state the stages, neither is ignored.
TEST_F(PlanJsonTest, AnEditedLayoutIsUsedOrRefused) {
  Json stated = planJson(plan("--pp 2 --layout Ettt|tL"), model);
  Json edited = stated;
  edited["layout"] = "Et|tttL";
  EXPECT_EQ(
      refused(edited.dump()),
      "plan.json: \"/layout\": expected the stages of \"/options/pipeline-model-parallel-layout\", \"Ettt|tL\", got "
      "\"Et|tttL\"; mend one of the two, or remove the option");
  edited["options"].erase("pipeline-model-parallel-layout");
  EXPECT_EQ(with(edited).layout, "Et|tttL");
  edited["layout"] = "Et*3|tL";
  edited["options"] = stated["options"];
  EXPECT_EQ(layoutText(with(edited), model), "Et*3|tL") << "the same stages, spelled otherwise";
  edited["layout"] = "Etx|tL";
  EXPECT_EQ(refused(edited.dump()).substr(0, 60), "plan.json: \"/layout\", column 3: expected one of E t m L | ( ");
  EXPECT_EQ(with(edited, "--layout Ett|ttL").layout, "Ett|ttL") << "the command line drops the file's";
  edited["options"].erase("pipeline-model-parallel-layout");
  edited["layout"] = "Et|tL";
  EXPECT_EQ(refused(edited.dump()), "plan.json: \"/layout\", column 4: expected 4 t, one for each of the model's "
                                    "decoder layers (num_hidden_layers), got "
                                    "2; 2 missing\n  Et|tL\n     ^");

  Json uneven = planJson(plan("--pp 2 --decoder-first-pipeline-num-layers 1"), model);
  EXPECT_EQ(with(uneven).layout, "Et|t*3L");
  uneven["layout"] = "Ettt|tL";
  EXPECT_EQ(
      refused(uneven.dump()),
      "plan.json: \"/layout\": expected the stages of the flags for uneven splits in \"/options\", \"Et|t*3L\", got "
      "\"Ettt|tL\"; mend one of the two, or remove the option");
}

// What "auto" came to is the plan, until the command line asks another question.
TEST_F(PlanJsonTest, AutoIsAnsweredOnce) {
  ParallelPlan p = plan("--pp 2 --vpp 2 --layout auto --global-batch-size 4");
  p.layout = "Et|tt|t|L"; // as costs would have it
  Json json = planJson(p, model);
  EXPECT_EQ(with(json).layout, "Et|tt|t|L");
  EXPECT_EQ(with(json).vpp, 2);
  EXPECT_EQ(with(json, "--vpp 2 --fp64").layout, "Et|tt|t|L");
  EXPECT_EQ(with(json, "--vpp 1").layout, autoLayout);
  EXPECT_EQ(with(json, "--pp 4 --vpp 1").layout, autoLayout);
  EXPECT_EQ(with(json, "--mtp-num-layers 1").layout, autoLayout);
  EXPECT_EQ(with(json, "--mtp-num-layers 1").vpp, 2);
  EXPECT_EQ(with(json, "--vpp 1 --pipeline-schedule zb-h1").layout, autoLayout);
  EXPECT_EQ(with(json, "--layout auto").layout, autoLayout);
  EXPECT_EQ(with(json, "--layout auto").vpp, 2);
  json["layout"] = "Et|t|tt|L";
  EXPECT_EQ(with(json).layout, "Et|t|tt|L");
  json["layout"] = "Et|t|t|L";
  EXPECT_EQ(refused(json.dump()).substr(0, 42), "plan.json: \"/layout\", column 6: expected 4");
  json["layout"] = "auto";
  EXPECT_EQ(with(json).layout, autoLayout);
}

// The stages of the file were chosen for its sizes: a flag that changes them is named.
TEST_F(PlanJsonTest, FlagsThatContradictTheFilesLayout) {
  Json json = planJson(plan("--pp 2 --layout Et|t|t|tL --global-batch-size 4"), model);
  const std::string mend = "; state a layout too (--layout, which may be auto), or remove the flag";
  auto message = [&](const std::string &line) {
    std::string text = refused(json.dump(), line);
    if (size_t at = text.find("beside /"); at != std::string::npos)
      text.replace(at + 7, text.find("plan.json") - at - 7, "");
    return text;
  };
  EXPECT_EQ(message("--pp 4"),
            "\"--pp\": expected 2 beside plan.json: \"/layout\" \"Et|t|t|tL\" (as many pipeline ranks as it was "
            "made for), got 4" +
                mend);
  EXPECT_EQ(message("--vpp 1"),
            "\"--vpp\": expected 2 beside plan.json: \"/layout\" \"Et|t|t|tL\" (as many stages a pipeline rank as "
            "it has), got 1" +
                mend);
  EXPECT_EQ(message("--mtp-num-layers 1"),
            "\"--mtp-num-layers\": expected 0 beside plan.json: \"/layout\" \"Et|t|t|tL\" (as many "
            "depths of multi-token prediction as it has), got 1" +
                mend);
  EXPECT_EQ(message("--pipeline-schedule zb-h1").substr(0, 46), "plan.json: \"/layout\": expected 2 stages (1 on ");
  EXPECT_EQ(with(json, "--pipeline-schedule zb-v").layout, "Et|t|t|tL");
  EXPECT_EQ(with(json, "--vpp 2 --pp 2 --mtp-num-layers 0").layout, "Et|t|t|tL");
  EXPECT_EQ(with(json, "--pp 4 --layout Et|t|t|tL").vpp, 1);
  EXPECT_EQ(with(json, "--pp 4 --layout auto --vpp 1").layout, autoLayout);
  EXPECT_EQ(with(Json::parse(R"({"version": 1, "layout": "Ettt|tL"})"), "--pp 2").layout, "Ettt|tL")
      << "no sizes in the file";
}

// Each decision of the file may be stated twice, but not differently.
TEST_F(PlanJsonTest, AFileThatContradictsItself) {
  auto sizes = [&](const char *pointer, const Json &value) {
    Json json = planJson(plan("--tp 2 --pp 2 --dp 2 --global-batch-size 16 --pipeline-schedule gpipe"), model);
    json[Json::json_pointer(pointer)] = value;
    json["sizes"].erase("world");
    return refused(json.dump());
  };
  EXPECT_EQ(sizes("/sizes/tp", 4),
            "plan.json: \"/sizes/tp\": expected 2 as \"/options/tensor-model-parallel-size\" says, got 4; "
            "mend one of the two");
  EXPECT_EQ(sizes("/options/tensor-model-parallel-size", "4"),
            "plan.json: \"/sizes/tp\": expected 4 as \"/options/tensor-model-parallel-size\" says, got 2; mend one of "
            "the two");
  EXPECT_EQ(
      sizes("/schedule", "1f1b"),
      "plan.json: \"/schedule\": expected gpipe as \"/options/pipeline-schedule\" says, got 1f1b; mend one of the two");
  EXPECT_EQ(sizes("/micro_batches", 4),
            "plan.json: \"/micro_batches\": expected 8 (\"/options/global-batch-size\" 16 / (micro-batch 1 x "
            "dp 2)), got 4; mend one of the two");
  EXPECT_EQ(sizes("/micro_batches", 8), "accepted");
}

// "stages" spells the layout out: whoever edits it alone is told, not ignored.
TEST_F(PlanJsonTest, StagesAreThoseOfTheLayout) {
  const std::string plain = R"({"version": 1, "sizes": {"pp": 2}, "layout": "Ettt|tL", "stages": )";
  const std::string tail = "; stages follow from the layout: edit that, and remove \"stages\"";
  EXPECT_EQ(refused(plain + R"([{"items": ["E", "t", "t", "t"]}, {"items": ["t", "L"]}]})"), "accepted");
  EXPECT_EQ(refused(plain + R"([{"items": ["E", "t", "t"]}, {"items": ["t", "t", "L"]}]})"),
            "plan.json: \"/stages/0/items\": expected [\"E\",\"t\",\"t\",\"t\"], as \"/layout\" \"Ettt|tL\" has, got "
            "an array of 3" +
                tail);
  EXPECT_EQ(refused(plain + R"([{"items": ["E", "t", "t", "t"]}]})"),
            "plan.json: \"/stages\": expected 2 stages, as \"/layout\" \"Ettt|tL\" has, got 1" + tail);
  EXPECT_EQ(refused(plain + R"([{"items": ["E", "t", "t", "t"]}, 7]})"),
            "plan.json: \"/stages/1\": expected a stage with items, as \"/layout\" \"Ettt|tL\" has, got 7" + tail);
  EXPECT_EQ(refused(plain + "3}"), "plan.json: \"/stages\": expected an array of stages, got 3");
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
  EXPECT_EQ(refused(R"({"version": 1, "options": {"seq-length": [64]}})"),
            "plan.json: \"/options/seq-length\": expected one value, got an array of 1");
  EXPECT_EQ(refused(R"({"version": 1, "options": {"seq-length": [1, 2]}})"),
            "plan.json: \"/options/seq-length\": expected one value, got an array of 2");
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
