//===- PipelineSplitTest.cpp - Layouts that flags stand for -----------------===//
//
// The proposal accounts for every layer at every size; Megatron's uneven flags by known examples.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PipelineSplit.h"
#include "lf/Support/Error.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

using namespace lf;

namespace {

/// Layers of each stage of a layout made of E, t, t*N, L and |.
std::vector<int64_t> layers(std::string layout) {
  std::vector<int64_t> out;
  std::istringstream stages(layout + "|");
  for (std::string stage; std::getline(stages, stage, '|');) {
    size_t t = stage.find('t');
    out.push_back(t == std::string::npos                 ? 0
                  : stage.find('*') == std::string::npos ? 1
                                                         : std::stoll(stage.substr(t + 2)));
  }
  return out;
}

TEST(PipelineSplit, ProposalHoldsEveryLayer) {
  for (int64_t n = 1; n <= 130; ++n)
    for (int64_t pp = 1; pp <= 40; ++pp) {
      std::string layout = proposeLayout(n, pp);
      if (pp > n + 2) {
        EXPECT_EQ(layout, "");
        continue;
      }
      ASSERT_TRUE(layout.starts_with("E") && layout.ends_with("L"));
      std::vector<int64_t> counts = layers(layout);
      ASSERT_EQ(static_cast<int64_t>(counts.size()), pp) << layout;
      int64_t sum = 0;
      for (int64_t c : counts)
        sum += c;
      ASSERT_EQ(sum, n) << layout;
      // With the embedding and the head counted, no two stages differ by more than one.
      ++counts.front(), ++counts.back();
      ASSERT_LE(*std::max_element(counts.begin(), counts.end()) - *std::min_element(counts.begin(), counts.end()), 1)
          << layout;
    }
  EXPECT_EQ(proposeLayout(30, 4), "Et*7|t*8|t*8|t*7L");
  EXPECT_EQ(proposeLayout(2, 4), "E|t|t|L");
}

SplitRequest split(int64_t layers, int64_t pp, int64_t first, int64_t last, bool embedding = false, bool loss = false) {
  SplitRequest request;
  request.layers = layers;
  request.pp = pp;
  request.firstLayers = first;
  request.lastLayers = last;
  request.countEmbedding = embedding;
  request.countLoss = loss;
  return request;
}

TEST(PipelineSplit, ProposalCountsDepths) {
  EXPECT_EQ(proposeLayout(3, 2, 1), "Et*2|tmL");
  EXPECT_EQ(proposeLayout(30, 4, 2), "Et*7|t*9|t*9|t*5m*2L");
  EXPECT_EQ(proposeLayout(2, 2, 5), "Et*2|m*5L");
}

TEST(PipelineSplit, UnevenFlags) {
  EXPECT_EQ(unevenLayout(split(6, 4, 0, 0, true, true)), "Et|t*2|t*2|tL");
  EXPECT_EQ(unevenLayout(split(7, 2, 3, 0)), "Et*3|t*4L");
  EXPECT_EQ(unevenLayout(split(62, 4, 0, 14)), "Et*16|t*16|t*16|t*14L");
  EXPECT_EQ(unevenLayout(split(20, 4, 3, 5)), "Et*3|t*6|t*6|t*5L");
  EXPECT_EQ(unevenLayout(split(20, 1, 0, 20)), "Et*20L");
}

std::string refusal(const SplitRequest &request) {
  try {
    return unevenLayout(request);
  } catch (const Error &e) {
    return e.what();
  }
}

TEST(PipelineSplit, UnevenFlagsNeverDropLayers) {
  EXPECT_EQ(
      refusal(split(20, 1, 0, 1)),
      "\"--decoder-last-pipeline-num-layers\": expected 20 (all layers of the model, since pp=1), got 1; remove the "
      "flag or raise --pp");
  EXPECT_EQ(
      refusal(split(20, 2, 3, 5)),
      "\"--decoder-first-pipeline-num-layers\": expected the ranks to hold all layers and no more, got 20 layers - "
      "3 first - 5 last = 12 for 0 ranks between; use 15, or remove one of the two flags");
  EXPECT_EQ(
      refusal(split(20, 4, 3, 4)),
      "\"--decoder-first-pipeline-num-layers\": expected the layers between to be a multiple of their 2 ranks, got "
      "20 layers - 3 first - 4 last = 13 (13 % 2 = 1); use 2");
  EXPECT_EQ(
      refusal(split(20, 4, 21, 0)),
      "\"--decoder-first-pipeline-num-layers\": expected the ranks to hold all layers and no more, got 20 layers - "
      "21 first = -1 for 3 ranks between; use 20");
  EXPECT_EQ(
      refusal(split(6, 4, 0, 0, true)),
      "\"--pipeline-model-parallel-size\": expected a divisor of 7 (6 layers + 1 for the embedding) when no layout is given, "
      "got 4 (7 % 4 = 3); legal sizes: 1, 7");
  for (SplitRequest both : {split(6, 4, 1, 0, true), split(6, 4, 0, 2, false, true)}) {
    EXPECT_EQ(refusal(both),
              "expected either \"--decoder-first-pipeline-num-layers\" and \"--decoder-last-pipeline-num-layers\" or "
              "\"--account-for-embedding-in-pipeline-split\" and \"--account-for-loss-in-pipeline-split\", got both; remove "
              "one of the pairs");
  }
}

} // namespace
