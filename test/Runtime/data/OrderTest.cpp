//===- OrderTest.cpp - Which sample is drawn when -------------------------===//
//
// The order is a permutation in every epoch, differs between epochs and seeds, and blends keep their shares.
//
//===----------------------------------------------------------------------===//
#include "TokenFiles.h"
#include "data/blend.h"
#include "data/permutation.h"
#include "data/token_source.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

TEST(Permutation, IsABijectionOfEverySize) {
  for (uint64_t size : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 63u, 64u, 65u, 1000u, 4097u}) {
    Permutation permutation(size, 3, 1);
    std::vector<bool> seen(size, false);
    for (uint64_t i = 0; i < size; ++i) {
      uint64_t to = permutation(i);
      ASSERT_LT(to, size);
      EXPECT_FALSE(seen[to]) << size;
      seen[to] = true;
    }
  }
}

TEST(Permutation, DependsOnSeedAndEpochAndScatters) {
  Permutation a(1000, 1, 0), b(1000, 2, 0), c(1000, 1, 1);
  int same_seed = 0, same_epoch = 0, neighbours = 0;
  for (uint64_t i = 0; i < 999; ++i) {
    same_seed += a(i) == b(i);
    same_epoch += a(i) == c(i);
    neighbours += a(i) + 1 == a(i + 1);
  }
  EXPECT_LT(same_seed, 10);
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(neighbours, 10);
}

TEST(Blend, KeepsSharesInEveryPrefixAndIsAFunctionOfTheIndex) {
  Blend blend({1, 3, 6});
  std::vector<int64_t> counts(3, 0);
  std::vector<size_t> order;
  for (int64_t n = 0; n < 10000; ++n) {
    auto [source, index] = blend.at(n);
    EXPECT_EQ(index, counts[source]++);
    order.push_back(source);
    for (size_t s = 0; s < 3; ++s)
      ASSERT_LE(std::abs(static_cast<double>(counts[s]) - static_cast<double>(n + 1) * (s == 0   ? 0.1
                                                                                        : s == 1 ? 0.3
                                                                                                 : 0.6)),
                1.5);
  }
  for (int64_t n : {9999, 0, 5000, 4096, 4095, 8192, 1})
    EXPECT_EQ(blend.at(n).source, order[static_cast<size_t>(n)]) << "going back and forth";
  EXPECT_EQ(Blend({1, 3, 6}).at(9000).source, order[9000]) << "a resumed run";
}

// File of tokens 0, 1, 2, ...: the first token of sample i is 4 i.
TEST(TokenSource, FileOrderIsTheStreamAndStartsAgain) {
  Folder folder;
  TokenSource source({folder.write_u16("t.bin", counting(4 * 5 + 1))}, 4, 2, 1000, false, 1);
  EXPECT_EQ(source.samples(), 5);
  std::vector<int32_t> tokens(5);
  for (int64_t n : {0, 1, 4, 5, 12}) {
    source.read(n, tokens.data());
    for (int32_t i = 0; i < 5; ++i)
      EXPECT_EQ(tokens[static_cast<size_t>(i)], 4 * (n % 5) + i) << "sample " << n;
  }
}

TEST(TokenSource, AFileWithoutTheLastLabelHasOneSampleLess) {
  Folder folder;
  EXPECT_EQ(TokenSource({folder.write_u16("t.bin", counting(20))}, 4, 2, 1000, false, 1).samples(), 4);
}

TEST(TokenSource, ShuffledEpochsVisitEachSampleOnce) {
  Folder folder;
  std::string path = folder.write_u16("t.bin", counting(4 * 30 + 1));
  TokenSource source({path}, 4, 2, 1000, true, 7), same({path}, 4, 2, 1000, true, 7),
      other({path}, 4, 2, 1000, true, 8);
  std::vector<int32_t> tokens(5), again(5), first, second, foreign;
  for (int64_t n = 0; n < 60; ++n) {
    source.read(n, tokens.data());
    (n < 30 ? first : second).push_back(tokens[0] / 4);
    same.read(n, again.data());
    EXPECT_EQ(tokens, again);
    if (n < 30) {
      other.read(n, again.data());
      foreign.push_back(again[0] / 4);
    }
  }
  EXPECT_NE(first, second);
  EXPECT_NE(first, foreign);
  std::vector<int32_t> all(30);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_NE(first, all);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(TokenSource, BlendOfPrefixes) {
  Folder folder;
  folder.write_indexed("a", {{1, 2, 3, 4, 5, 6, 7, 8, 9}}, 2);
  folder.write_indexed("b", {{11, 12, 13}, {14, 15, 16, 17, 18, 19}}, 4);
  TokenSource source({"1", folder / "a", "1", folder / "b"}, 4, 2, 1000, false, 1);
  std::vector<int32_t> tokens(5);
  source.read(0, tokens.data());
  EXPECT_EQ(tokens, (std::vector<int32_t>{1, 2, 3, 4, 5}));
  source.read(1, tokens.data());
  EXPECT_EQ(tokens, (std::vector<int32_t>{11, 12, 13, 14, 15})) << "across documents";
  source.read(3, tokens.data());
  EXPECT_EQ(tokens, (std::vector<int32_t>{15, 16, 17, 18, 19}));
}

} // namespace
