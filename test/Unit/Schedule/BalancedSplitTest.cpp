//===- BalancedSplitTest.cpp - Stages of equal work -----------------------===//
//
// The slowest stage is as fast as exhaustive search can make it; ends and m items stay where they must.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/BalancedSplit.h"

#include "lf/Schedule/LayoutString.h"
#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace lf;

namespace {

std::vector<ChainItem> chainOf(const std::string &symbols, double embed, double layer, double loss) {
  std::vector<ChainItem> chain;
  for (char c : symbols)
    chain.push_back({c, c == 'E' ? embed : c == 'L' ? loss : layer});
  return chain;
}

double slowest(const std::vector<std::string> &stages, const std::vector<ChainItem> &chain) {
  size_t at = 0;
  double most = 0;
  for (const std::string &stage : stages) {
    double sum = 0;
    for (size_t i = 0; i < stage.size(); ++i)
      sum += chain[at++].cost;
    most = std::max(most, sum);
  }
  return most;
}

/// The least maximum over all ways to cut `chain` from `from` on.
double best(const std::vector<ChainItem> &chain, size_t from, int64_t stages) {
  double sum = 0;
  if (stages == 1) {
    for (size_t i = from; i < chain.size(); ++i)
      sum += chain[i].cost;
    return from < chain.size() ? sum : 1e300; // the last stage holds the loss
  }
  double least = from > 0 ? best(chain, from, stages - 1) : 1e300;
  for (size_t to = from + 1; to < chain.size(); ++to) {
    sum += chain[to - 1].cost;
    least = std::min(least, std::max(sum, best(chain, to, stages - 1)));
  }
  return least;
}

} // namespace

TEST(BalancedSplit, EvenWhereTheEndsCostNothing) {
  EXPECT_EQ(printLayout(balancedSplit(chainOf("E" + std::string(8, 't') + "L", 0, 1, 0), 4)), "Ett|tt|tt|ttL");
}

TEST(BalancedSplit, AHeavyLossTakesLayersAway) {
  EXPECT_EQ(printLayout(balancedSplit(chainOf("EttttttL", 0, 1, 2), 2)), "Et*4|ttL");
  EXPECT_EQ(printLayout(balancedSplit(chainOf("EttL", 0, 1, 50), 3)), "Et|t|L");
}

TEST(BalancedSplit, MtpLayersStayTogether) {
  std::vector<std::string> stages = balancedSplit(chainOf("EttmmL", 0, 1, 0), 4);
  int with = 0;
  for (const std::string &stage : stages)
    with += stage.find('m') != std::string::npos;
  EXPECT_EQ(with, 1);
}

/// The least maximum over all ways to cut `chain` that resolveLayout takes.
double bestLegal(const std::vector<ChainItem> &chain, const LayoutRequest &request, int64_t stages) {
  double least = 1e300;
  std::vector<size_t> cuts(static_cast<size_t>(stages) + 1, 0);
  cuts.back() = chain.size();
  auto search = [&](auto &&self, size_t at) -> void {
    if (at < static_cast<size_t>(stages)) {
      for (cuts[at] = cuts[at - 1]; cuts[at] <= chain.size(); ++cuts[at])
        self(self, at + 1);
      return;
    }
    std::vector<std::string> split;
    for (size_t s = 0; s < static_cast<size_t>(stages); ++s) {
      split.emplace_back();
      for (size_t i = cuts[s]; i < cuts[s + 1]; ++i)
        split.back() += chain[i].symbol;
    }
    try {
      resolveLayout(printLayout(split), request);
      least = std::min(least, slowest(split, chain));
    } catch (const Error &) {
    }
  };
  search(search, 1);
  return least;
}

// Also with chunks, where m may only be in the last one of a rank.
TEST(BalancedSplit, MtpAndChunksStayLegalAndNoneIsFaster) {
  EXPECT_EQ(printLayout(balancedSplit(chainOf("EtttmL", 0, 1, 9), 6, 2)), "Et|t|t|m||L");
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    LayoutRequest request;
    request.layers = 1 + random() % 3;
    request.mtp = random() % 3;
    request.chunks = 1 + random() % 2;
    request.pp = 2 + random() % 2;
    if (round % 3 == 0 && request.chunks == 2)
      request.placement = PlacementKind::vee;
    std::vector<ChainItem> chain =
        chainOf("E" + std::string(request.layers, 't') + std::string(request.mtp, 'm') + "L", 0, 0, 0);
    for (ChainItem &item : chain)
      item.cost = random() % 10;
    int64_t stages = request.pp * request.chunks;
    std::vector<std::string> split = balancedSplit(chain, stages, request.chunks);
    EXPECT_NO_THROW(resolveLayout(printLayout(split), request)) << printLayout(split);
    EXPECT_DOUBLE_EQ(slowest(split, chain), bestLegal(chain, request, stages)) << printLayout(split);
  }
}

TEST(BalancedSplit, NoneIsFasterAndAllAreLegal) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    int64_t layers = 1 + random() % 7, stages = 1 + random() % 4;
    std::vector<ChainItem> chain = chainOf("E" + std::string(layers, 't') + "L", 0, 0, 0);
    for (ChainItem &item : chain)
      item.cost = random() % 10;
    std::vector<std::string> split = balancedSplit(chain, stages);
    EXPECT_DOUBLE_EQ(slowest(split, chain), best(chain, 0, stages)) << printLayout(split);
    LayoutRequest request;
    request.pp = stages;
    request.layers = layers;
    EXPECT_NO_THROW(resolveLayout(printLayout(split), request)) << printLayout(split);
  }
}
