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
  std::mt19937_64 random(1);
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text = randomLayout(random);
    ASSERT_EQ(checkLayoutProperties(text, random), "") << "string " << i << ": " << text;
    accepted += NaiveLayout(text).expand().has_value();
  }
  EXPECT_GT(accepted, 20'000); // else the strings test refusals only
}
