//===- PipelineFlagsTest.cpp - Chunks on a rank, by flags -------------------===//
//
// The three ways to ask for virtual stages, what follows from each, and what is refused.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "lf/Plan/PlanJson.h"

using namespace lf;

namespace {

using PipelineFlagsTest = CompileTest;

TEST_F(PipelineFlagsTest, ThreeWaysToTheSameChunks) {
  for (const char *flags : {"--pp 2 --vpp 2 --global-batch-size 4",
                            "--pp 2 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 4",
                            "--pp 2 --layout Et|t|t|tL --global-batch-size 4"}) {
    ParallelPlan p = plan(flags);
    EXPECT_EQ(p.vpp, 2) << flags;
    EXPECT_EQ(layoutText(p, model), "Et|t|t|tL") << flags;
  }
}

TEST_F(PipelineFlagsTest, OneOfThem) {
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --layout Et|t|t|tL"),
            "expected one of the three that say how many stages a pipeline rank has, got \"--vpp\" and \"--layout\"; a "
            "layout alone says it all");
  EXPECT_EQ(refusal("--pp 2 --vpp 1 --layout Ett|ttL --global-batch-size 4"), "accepted");
}

TEST_F(PipelineFlagsTest, Divisions) {
  EXPECT_EQ(refusal("--vpp 2"), "\"--pipeline-model-parallel-size\": expected at least 2 for 2 chunks on a rank, got "
                                "1; raise it, or ask for one chunk");
  EXPECT_EQ(refusal("--pp 2 --vpp 3 --global-batch-size 4"), "\"--num-virtual-stages-per-pipeline-rank\": expected the "
                                                             "layers of a rank to be a multiple of its 3 chunks, got 2 "
                                                             "(2 % 3 = 2)");
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --global-batch-size 3"),
            "\"--global-batch-size\": expected the last micro-batch group to be full or to hold at least 2 (pipeline "
            "size), got "
            "3 micro-batches / 2 in a group = 1 remainder 1; make it 2 or 4 micro-batches, or pass "
            "--microbatch-group-size-per-virtual-pipeline-stage 3");
}

// One chunk asks for nothing, but does not contradict silently.
TEST_F(PipelineFlagsTest, OneChunkBesideAnotherNumber) {
  EXPECT_EQ(refusal("--pp 2 --vpp 1 --layout Et|t|t|tL --global-batch-size 4"),
            "\"--vpp\": expected 2, the stages that a pipeline rank has by the other flags, got 1; remove it");
  EXPECT_EQ(refusal("--pp 2 --vpp 1 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 4"),
            "\"--vpp\": expected 2, the stages that a pipeline rank has by the other flags, got 1; remove it");
  EXPECT_EQ(refusal("--pp 2 --vpp 1 --layout Ettt|tL"), "accepted");
}

TEST_F(PipelineFlagsTest, Schedules) {
  EXPECT_EQ(plan("--pp 2 --pipeline-schedule zb-h1 --global-batch-size 4").vpp, 1);
  EXPECT_EQ(plan("--pp 2 --pipeline-schedule zb-v --global-batch-size 4").vpp, 2) << "two stages a rank by itself";
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --pipeline-schedule zb-h1 --global-batch-size 4"),
            "\"--vpp\": expected 1 chunk on a rank, as \"--pipeline-schedule\" \"zb-h1\" has, got 2; remove the flag "
            "or choose "
            "another schedule");
  EXPECT_EQ(refusal("--pp 2 --pipeline-schedule zb-v --decoder-first-pipeline-num-layers 1"),
            "\"--decoder-first-pipeline-num-layers\": expected a layout (--layout) under \"--pipeline-schedule\" "
            "\"zb-v\", got the layers of some stages; a rank's two "
            "stages are the first and the last of what is left, so the layout has to say how many layers each has");
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --global-batch-size 4 --no-overlap-p2p-communication"),
            "\"--no-overlap-p2p-communication\": expected a pipeline size (--pp) of at least 3 with 2 chunks on a "
            "rank, got 2; "
            "remove the flag, or use one chunk");
  EXPECT_EQ(
      refusal("--pp 2 --layout Et|t|t|tL --global-batch-size 4 --no-overlap-p2p-communication"),
      "--pipeline-model-parallel-layout: expected a pipeline size (--pp) of at least 3 for 2 stages on a rank without "
      "overlapped p2p, got 2; drop --no-overlap-p2p-communication, or use 2 stages");
  for (const char *split : {"", " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
                            " --decoder-first-pipeline-num-layers 2"})
    EXPECT_EQ(refusal(std::string("--pp 2 --vpp 2 --global-batch-size 4 --no-overlap-p2p-communication") + split),
              "\"--no-overlap-p2p-communication\": expected a pipeline size (--pp) of at least 3 with 2 chunks on a "
              "rank, got "
              "2; remove the flag, or use one chunk")
        << "no layout was typed:" << split;
  const std::string chunks = "--pp 4 --layout E|t|t|t|t|||L --global-batch-size 4";
  EXPECT_TRUE(plan(chunks).overlapP2p);
  EXPECT_FALSE(plan(chunks + " --no-overlap-p2p-communication").overlapP2p);
  EXPECT_EQ(plan(chunks + " --no-overlap-p2p-communication").options.count("no-overlap-p2p-communication"), 1u);
}

// The number of chunks that a schedule has is not dropped in silence when another is asked for, in whatever way.
TEST_F(PipelineFlagsTest, ChunksOfTheSchedule) {
  json["num_hidden_layers"] = 8;
  const std::string vee = "--pp 2 --pipeline-schedule zb-v --global-batch-size 8 ";
  for (const char *chunks : {"1", "3"})
    EXPECT_EQ(refusal(vee + "--vpp " + chunks),
              "\"--vpp\": expected 2 chunks on a rank, as \"--pipeline-schedule\" \"zb-v\" "
              "has, got " +
                  std::string(chunks) + "; remove the flag or choose another schedule");
  EXPECT_EQ(refusal(vee + "--num-layers-per-virtual-pipeline-stage 4"),
            "\"--num-layers-per-virtual-pipeline-stage\": expected 2 chunks on a rank, as \"--pipeline-schedule\" "
            "\"zb-v\" has, "
            "got 1 (4 layers of a rank / 4); remove the flag or choose another schedule");
  EXPECT_EQ(refusal("--pp 2 --pipeline-schedule zb-h1 --global-batch-size 8 --num-layers-per-virtual-pipeline-stage 2"),
            "\"--num-layers-per-virtual-pipeline-stage\": expected 1 chunk on a rank, as \"--pipeline-schedule\" "
            "\"zb-h1\" has, "
            "got 2 (4 layers of a rank / 2); remove the flag or choose another schedule");
  EXPECT_EQ(plan(vee + "--vpp 2").vpp, 2);
  EXPECT_EQ(plan(vee + "--num-layers-per-virtual-pipeline-stage 2").vpp, 2);
  // A plan file says of every plan how many chunks it has; only what somebody asked for contradicts a schedule.
  const std::string file = write("plan.json", planJson(plan("--pp 2 --global-batch-size 8"), model).dump());
  EXPECT_EQ(plan("--plan " + file + " --pipeline-schedule zb-v").vpp, 2);
  EXPECT_NE(refusal("--plan " + file + " --pipeline-schedule zb-v --vpp 1"), "accepted");
  EXPECT_EQ(plan("--plan " + write("vee.json", planJson(plan(vee), model).dump()) + " --pipeline-schedule 1f1b").vpp,
            1);
  json["num_hidden_layers"] = 6;
  EXPECT_EQ(refusal(vee),
            "\"--pipeline-schedule\" \"zb-v\": expected the layers of a rank to be a multiple of its 2 chunks, got "
            "3 (3 % 2 = 1)");
}

// A layout that is proposed has the stages and the depths that the other flags ask for.
TEST_F(PipelineFlagsTest, ProposedLayouts) {
  auto note = [&](const std::string &line) {
    try {
      plan(line);
    } catch (const Error &e) {
      return e.notes.empty() ? std::string("none") : e.notes.front();
    }
    return std::string("accepted");
  };
  json["num_hidden_layers"] = 6;
  EXPECT_EQ(note("--pp 4 --pipeline-schedule zb-v --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 8"),
            "a layout can split unevenly: --pipeline-model-parallel-layout \"E|(t|)*6L\", in place of "
            "\"--num-layers-per-virtual-pipeline-stage\"");
  EXPECT_EQ(note("--pp 4 --num-layers-per-virtual-pipeline-stage 1 --global-batch-size 8"),
            "a layout can split unevenly: --pipeline-model-parallel-layout \"E|(t|)*6L\", in place of "
            "\"--num-layers-per-virtual-pipeline-stage\"");
  json["num_hidden_layers"] = 5;
  EXPECT_EQ(note("--pp 2 --vpp 2 --global-batch-size 8 --mtp-num-layers 1"),
            "a layout can split unevenly: --pipeline-model-parallel-layout \"Et|tt|tt|mL\", in place of "
            "\"--num-virtual-stages-per-pipeline-rank\"");
  EXPECT_EQ(note("--pp 2 --global-batch-size 8 --layout Ett|tt|tL --pipeline-schedule zb-h1"),
            "the nearest legal layout is \"Ett|t*3L\"");
  json["num_hidden_layers"] = 3;
  EXPECT_NE(refusal("--pp 2 --mtp-num-layers 1").find("--pipeline-model-parallel-layout \"Et*2|tmL\""),
            std::string::npos);
}

TEST_F(PipelineFlagsTest, Automatic) {
  ParallelPlan p = plan("--pp 2 --layout auto");
  EXPECT_EQ(p.layout, autoLayout);
  EXPECT_EQ(p.vpp, 1);
  EXPECT_EQ(plan("--pp 2 --vpp 2 --layout auto --global-batch-size 4").vpp, 2);
  EXPECT_EQ(layoutText(p, model), "Ett|ttL") << "before costs are known";
}

TEST_F(PipelineFlagsTest, GroupSize) {
  EXPECT_EQ(plan("--pp 2 --vpp 2 --global-batch-size 6 --microbatch-group-size-per-vp-stage 3").groupSize, 3);
  EXPECT_EQ(
      refusal("--pp 2 --microbatch-group-size-per-vp-stage 2 --global-batch-size 4"),
      "\"--microbatch-group-size-per-virtual-pipeline-stage\": expected several chunks on a pipeline rank, got 1; "
      "pass --num-virtual-stages-per-pipeline-rank or remove it");
  for (const char *schedule : {"gpipe --vpp 2", "gpipe", "zb-v", "zb-h1"}) {
    std::string name = std::string(schedule).substr(0, std::string(schedule).find(' '));
    EXPECT_EQ(refusal("--pp 2 --microbatch-group-size-per-vp-stage 7 --global-batch-size 4 --pipeline-schedule " +
                      std::string(schedule)),
              "\"--microbatch-group-size-per-virtual-pipeline-stage\": expected \"--pipeline-schedule\" "
              "\"interleaved\", got \"" +
                  name + "\", which runs no groups of micro-batches; remove it");
  }
}

} // namespace
