//===- BalancedSplitTest.cpp - Stages of equal work -----------------------===//
//
// The slowest stage is as fast as exhaustive search can make it; ends and m items stay where they must.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/BalancedSplit.h"

#include "lf/Schedule/LayoutString.h"
#include "lf/Schedule/StageLayout.h"

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
