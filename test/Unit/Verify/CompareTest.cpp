//===- CompareTest.cpp - lf-verify sees what differs ------------------------===//
//
// Equal runs are equal; each kind of difference is seen, and shown in the order of the model.
//
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace lf;

namespace {

RunResult sample() {
  RunResult r;
  r.loss = {5, 4, 3};
  r.gradNorm = {1, 1, 1};
  r.gradients = {{"lm_head.weight", {1, 2}},
                 {"model.embed_tokens.weight", {3, 4}},
                 {"model.layers.10.mlp.up_proj.weight", {1, 1}},
                 {"model.layers.2.mlp.up_proj.weight", {1, 1}},
                 {"model.layers.2.tiny", {1e-17, 0}}};
  r.weights = r.gradients;
  return r;
}

std::vector<Difference> wrong(const RunResult &plan) {
  std::vector<Difference> out;
  for (const Difference &d : compareRuns(plan, sample()))
    if (!(d.relative <= 1e-9))
      out.push_back(d);
  return out;
}

TEST(Compare, EqualRunsAreEqual) {
  EXPECT_TRUE(wrong(sample()).empty());
  EXPECT_EQ(compareRuns(sample(), sample()).size(), 16u);
}

TEST(Compare, OrderIsThatOfTheModel) {
  RunResult r = sample();
  for (auto &[name, values] : r.gradients)
    values[0] += 1e-6;
  std::vector<Difference> rows = wrong(r);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(rows[1].name, "model.layers.2.mlp.up_proj.weight");
  EXPECT_EQ(rows[3].name, "model.layers.10.mlp.up_proj.weight");
  EXPECT_EQ(rows[4].name, "lm_head.weight");
}

TEST(Compare, RoundingOfAZeroGradientIsNoDifference) {
  RunResult r = sample();
  r.gradients["model.layers.2.tiny"] = {3e-17, -2e-17};
  EXPECT_TRUE(wrong(r).empty());
  r.gradients["model.layers.2.tiny"] = {1e-10, 0};
  EXPECT_EQ(wrong(r).size(), 1u);
}

TEST(Compare, MissingExtraAndUndefinedDiffer) {
  RunResult r = sample();
  r.weights.erase("lm_head.weight");
  r.weights["extra"] = {1};
  r.weights["model.embed_tokens.weight"][0] = NAN;
  r.loss.pop_back();
  r.gradNorm[0] = INFINITY;
  std::vector<Difference> rows = wrong(r);
  ASSERT_EQ(rows.size(), 5u);
  for (const Difference &d : rows)
    EXPECT_TRUE(std::isinf(d.difference)) << d.what << " " << d.name;
}

} // namespace
