//===- DefaultSplitTest.cpp - Megatron's default split --------------------===//
//
// The even, counted and uneven splits, and their refusals.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/DefaultSplit.h"

#include "lf/Support/Error.h"
#include <gtest/gtest.h>

using namespace lf;
using Stages = std::vector<std::string>;

namespace {

SplitRequest split(int64_t layers, int64_t pp, int64_t vpp = 1) {
  SplitRequest request;
  request.layers = layers;
  request.pp = pp;
  request.vpp = vpp;
  return request;
}

std::string refusal(const SplitRequest &request) {
  try {
    defaultSplit(request);
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

void expectIn(const std::string &message, const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

} // namespace

TEST(DefaultSplit, evenOverRanksAndChunks) {
  EXPECT_EQ(defaultSplit(split(3, 1)), Stages{"EtttL"});
  EXPECT_EQ(defaultSplit(split(8, 2, 4)), (Stages{"Et", "t", "t", "t", "t", "t", "t", "tL"}));
  StageLayout layout = placeStages(defaultSplit(split(8, 2, 2)), {PlacementKind::roundRobin, 2, 2});
  EXPECT_EQ(layout.stages[2].pp, 0);
  EXPECT_EQ(layout.stages[2].layers, (std::vector<int64_t>{4, 5}));
}

TEST(DefaultSplit, embeddingAndLossTakeASlot) {
  SplitRequest request = split(6, 2, 2);
  request.countEmbedding = request.countLoss = true;
  request.mtp = 1;
  EXPECT_EQ(defaultSplit(request), (Stages{"Et", "tt", "tt", "tmL"}));
  request = split(3, 4);
  request.countLoss = true;
  EXPECT_EQ(defaultSplit(request), (Stages{"Et", "t", "t", "L"}));
  request = split(1, 1);
  request.countEmbedding = request.countLoss = true;
  EXPECT_EQ(defaultSplit(request), Stages{"EtL"});
}

TEST(DefaultSplit, firstAndLastRankGiven) {
  SplitRequest request = split(8, 4);
  request.firstLayers = 1;
  request.lastLayers = 3;
  EXPECT_EQ(defaultSplit(request), (Stages{"Et", "tt", "tt", "tttL"}));
  request = split(12, 2, 2);
  request.firstLayers = 4;
  EXPECT_EQ(defaultSplit(request), (Stages{"Ett", "tttt", "tt", "ttttL"}));
  request.placement = PlacementKind::vee; // rank 0 holds stages 0 and 3
  EXPECT_EQ(defaultSplit(request), (Stages{"Ett", "tttt", "tttt", "ttL"}));
  request = split(5, 2);
  request.firstLayers = 2;
  request.lastLayers = 3;
  EXPECT_EQ(defaultSplit(request), (Stages{"Ett", "tttL"}));
}

TEST(DefaultSplit, refusalsShowTheArithmetic) {
  expectIn(refusal(split(61, 16)), "expected a divisor of the 61 layers when no layout is given, got 16 (61 % 16 = 13); legal sizes: 1, 61");
  SplitRequest request = split(32, 4);
  request.countEmbedding = true;
  expectIn(refusal(request), "expected a divisor of 33 (32 layers + 1 for the embedding) when no layout is given, got 4 (33 % 4 = 1); legal sizes: 1, 3, 11, 33");
  expectIn(refusal(split(12, 4, 2)), "to be a multiple of its 2 chunks, got 3 (3 % 2 = 1)");
  request = split(9, 4);
  request.firstLayers = 2;
  expectIn(refusal(request), "multiple of their 3 ranks, got 9 layers - 2 first = 7 (7 % 3 = 1); use 3");
  request.firstLayers = 12;
  expectIn(refusal(request), "= -3");
  request = split(6, 2); // both given, nothing between: Megatron would drop a layer
  request.firstLayers = 2;
  request.lastLayers = 3;
  expectIn(refusal(request),
           "\"--decoder-first-pipeline-num-layers\": expected the ranks to hold all layers and no more, got 6 layers - 2 first "
           "- 3 last = 1 for 0 ranks between; use 3, or remove one of the two flags");
  request.pp = 1;
  expectIn(refusal(request), "expected 6 (all layers of the model, since pp=1), got 2");
  request.pp = 3;
  request.countLoss = true;
  expectIn(refusal(request), "got both");
  request = split(4, 4);
  request.firstLayers = -1;
  expectIn(refusal(request), "at least 1, got -1");
  expectIn(refusal(split(0, 2)), "got 0 and 0");
  expectIn(refusal(split(4, 0)), "got 0 x 1");
  expectIn(refusal(split(4, INT64_MAX, INT64_MAX)), "from 1 to 1000000");
  expectIn(refusal(split(4, 1, 2)), "expected at least 2 for 2 chunks on a rank, got 1; raise it, or ask for one chunk");
  // 1 layer + 1 + 1 = 3 slots on 1 rank are fine, but 2 slots for one layer's stage are not
  request = split(1, 3);
  request.countEmbedding = request.countLoss = true;
  EXPECT_EQ(defaultSplit(request), (Stages{"E", "t", "L"}));
}

TEST(DefaultSplit, proposesALayoutThatIsLegal) {
  try {
    defaultSplit(split(61, 16));
    FAIL();
  } catch (const Error &error) {
    ASSERT_EQ(error.notes.size(), 1u);
    std::string note = error.notes.front();
    size_t from = note.find('"') + 1;
    LayoutRequest request;
    request.pp = 16;
    request.layers = 61;
    EXPECT_EQ(resolveLayout(note.substr(from, note.rfind('"') - from), request).stages.size(), 16u);
  }
}

TEST(DefaultSplit, chunksFromLayersOfAStage) {
  EXPECT_EQ(chunksFromLayersPerStage(split(32, 4), 2), 4);
  EXPECT_THROW(chunksFromLayersPerStage(split(32, 4), 3), Error);
  EXPECT_THROW(chunksFromLayersPerStage(split(32, 4), 0), Error);
  SplitRequest request = split(32, 4);
  request.firstLayers = 8;
  EXPECT_THROW(chunksFromLayersPerStage(request, 2), Error);
}
