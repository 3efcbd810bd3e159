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
  EXPECT_EQ(refusal("--vpp 2"), "expected a pipeline size (--pp) above 1 for 2 chunks on a rank, got 1");
  EXPECT_EQ(refusal("--pp 2 --vpp 3"),
            "expected the layers of a rank to be divisible by chunks on a rank (--vpp), got 2 / 3 = 0 remainder 2");
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --global-batch-size 3"),
            "expected the last micro-batch group to be full or to hold at least 2 (pipeline size), got 3 micro-batches "
            "/ 2 in a group = 1 remainder 1; 2 or 4 micro-batches would do");
}

TEST_F(PipelineFlagsTest, Schedules) {
  EXPECT_EQ(plan("--pp 2 --pipeline-schedule zb-h1 --global-batch-size 4").vpp, 1);
  EXPECT_EQ(plan("--pp 2 --pipeline-schedule zb-v --global-batch-size 4").vpp, 2) << "two stages a rank by itself";
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --pipeline-schedule zb-h1 --global-batch-size 4"),
            "expected 1 chunk on a rank (--vpp) for --pipeline-schedule zb-h1, got 2");
  EXPECT_EQ(refusal("--pp 2 --pipeline-schedule zb-v --decoder-first-pipeline-num-layers 1"),
            "\"--pipeline-schedule\" \"zb-v\": expected a layout instead of flags for uneven splits, got both; a rank's two "
            "stages are the first and the last of what is left, so the layout has to say how many layers each has");
  EXPECT_EQ(refusal("--pp 2 --vpp 2 --global-batch-size 4 --no-overlap-p2p-communication"),
            "\"--no-overlap-p2p-communication\": expected a pipeline size (--pp) of at least 3 with 2 chunks on a rank, got 2; "
            "remove the flag, or use one chunk");
  EXPECT_EQ(refusal("--pp 2 --layout Et|t|t|tL --global-batch-size 4 --no-overlap-p2p-communication"),
            "--pipeline-model-parallel-layout: expected a pipeline size (--pp) of at least 3 for 2 stages on a rank without "
            "overlapped p2p, got 2; drop --no-overlap-p2p-communication, or use 2 stages");
  const std::string chunks = "--pp 4 --layout E|t|t|t|t|||L --global-batch-size 4";
  EXPECT_TRUE(plan(chunks).overlapP2p);
  EXPECT_FALSE(plan(chunks + " --no-overlap-p2p-communication").overlapP2p);
  EXPECT_EQ(plan(chunks + " --no-overlap-p2p-communication").options.count("no-overlap-p2p-communication"), 1u);
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
  EXPECT_EQ(refusal("--pp 2 --microbatch-group-size-per-vp-stage 2 --global-batch-size 4"),
            "\"--microbatch-group-size-per-virtual-pipeline-stage\": expected several chunks on a pipeline rank, got 1; "
            "pass --num-virtual-stages-per-pipeline-rank or remove it");
}

} // namespace
