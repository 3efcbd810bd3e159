//===- ArenaPlanTest.cpp - Buffers alive together never overlap ----------===//
//
// The invariant on random lifetimes, and the peak on cases with a known best.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/ArenaPlan.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace lf;

static int64_t highest(const std::vector<int64_t> &live) { return *std::max_element(live.begin(), live.end()); }

TEST(ArenaPlan, NoOverlapOnRandomLifetimes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> buffers(1 + random() % 40);
    for (Lifetime &b : buffers) {
      b.bytes = 1 + random() % 1000;
      b.first = random() % 30;
      b.last = b.first + random() % 10;
    }
    int64_t bytes = planArena(buffers);
    EXPECT_GE(bytes, highest(liveBytes(buffers, 40)));
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % arenaAlignment, 0);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, bytes);
      for (size_t j = 0; j < i; ++j) {
        bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
        bool apart = buffers[i].offset + buffers[i].bytes <= buffers[j].offset ||
                     buffers[j].offset + buffers[j].bytes <= buffers[i].offset;
        EXPECT_TRUE(!together || apart) << "buffers " << i << " and " << j << " of round " << round;
      }
    }
  }
}

// Bundles of one size: as many places as are ever alive together.
TEST(ArenaPlan, OneSizeIsOptimal) {
  std::vector<Lifetime> buffers;
  for (int64_t i = 0; i < 3000; ++i)
    buffers.push_back({640, i, i + 3, -1});
  EXPECT_EQ(planArena(buffers), 4 * 640);
}

// As the bundles of gpipe with many micro-batches: time must not grow with the square.
TEST(ArenaPlan, ManyAliveAtOnce) {
  constexpr int64_t count = 200000;
  std::vector<Lifetime> buffers;
  for (int64_t i = 0; i < count; ++i)
    buffers.push_back({64 + i % 3 * 64, i, 2 * count - i, -1});
  EXPECT_EQ(planArena(buffers), count * 128 - 64);
}

// In order of time: what is freed on both sides of a gap joins it.
TEST(ArenaPlan, ManyOfSeveralSizesNeverOverlap) {
  std::mt19937 random(11);
  std::vector<Lifetime> buffers(2500);
  for (int64_t i = 0; i < int64_t(buffers.size()); ++i)
    buffers[i] = {int64_t(random() % 1000), i / 2, i / 2 + int64_t(random() % 40), -1};
  int64_t bytes = planArena(buffers);
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      bool together = buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      bool apart = buffers[i].offset + buffers[i].bytes <= buffers[j].offset || buffers[j].offset + buffers[j].bytes <= buffers[i].offset;
      ASSERT_TRUE(!together || apart || buffers[i].bytes == 0 || buffers[j].bytes == 0) << i << " and " << j;
      ASSERT_LE(buffers[i].offset + buffers[i].bytes, bytes);
    }
}

// A large buffer fits the hole that two dead neighbours leave only when it is placed first.
TEST(ArenaPlan, LargestFirstBeatsOrderOfTime) {
  std::vector<Lifetime> buffers = {{64, 0, 1, -1}, {64, 0, 3, -1}, {128, 2, 4, -1}};
  EXPECT_EQ(planArena(buffers), 192);
}

TEST(ArenaPlan, LiveBytesCountsBothEnds) {
  EXPECT_EQ(liveBytes({{10, 0, 1, -1}, {5, 1, 2, -1}}, 4), (std::vector<int64_t>{10, 15, 5, 0}));
}
