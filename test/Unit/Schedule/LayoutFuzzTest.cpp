//===- LayoutFuzzTest.cpp - 200,000 random layout strings -----------------===//
//
// The seeded, short form of lf-fuzz-layout.
//
//===----------------------------------------------------------------------===//
#include "LayoutFuzz.h"

#include <gtest/gtest.h>

using namespace lf;
using namespace lf::test;

TEST(LayoutFuzz, propertiesHoldOnRandomStrings) {
  LayoutStrings source(1);
  LayoutTally tally;
  for (int i = 0; i < 200'000; ++i) {
    const std::string &text = source.next();
    ASSERT_EQ(checkLayoutProperties(text, source.random, tally), "") << "string " << i << ": " << text;
  }
  EXPECT_GT(tally.parsed, 80'000); // else the strings test refusals only
  EXPECT_GT(tally.resolved, 8'000);
}
