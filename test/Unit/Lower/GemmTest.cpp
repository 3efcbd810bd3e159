//===- GemmTest.cpp - Which einsums are one matrix product ----------------===//
//
// The specs of a decoder layer forward and backward, factors of size 1, and what is refused.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/Gemm.h"
#include <gtest/gtest.h>

using namespace lf;

static Gemm gemm(const char *spec, const std::vector<int64_t> &lhs, const std::vector<int64_t> &rhs) {
  std::string why;
  auto found = asGemm(spec, lhs, rhs, why);
  EXPECT_TRUE(found) << spec << ": " << why;
  return found.value_or(Gemm());
}

static void expectGemm(const Gemm &g, int64_t m, int64_t n, int64_t k, bool transA, bool transB, bool swapped) {
  EXPECT_EQ(g.m, m);
  EXPECT_EQ(g.n, n);
  EXPECT_EQ(g.k, k);
  EXPECT_EQ(g.transA, transA);
  EXPECT_EQ(g.transB, transB);
  EXPECT_EQ(g.swapped, swapped);
}

TEST(Gemm, Projection) { expectGemm(gemm("sbh,hgrd->sbgrd", {3, 2, 5}, {5, 2, 2, 4}), 6, 16, 5, false, false, false); }
TEST(Gemm, InputGradient) {
  expectGemm(gemm("sbgrd,hgrd->sbh", {3, 2, 2, 2, 4}, {5, 2, 2, 4}), 6, 5, 16, false, true, false);
}
TEST(Gemm, WeightGradient) {
  expectGemm(gemm("sbh,sbgrd->hgrd", {3, 2, 5}, {3, 2, 2, 2, 4}), 5, 16, 6, true, false, false);
}
// The result has the columns of the right operand first.
TEST(Gemm, Swapped) { expectGemm(gemm("sbh,sbv->vh", {3, 2, 5}, {3, 2, 7}), 7, 5, 6, true, false, true); }
// One query head for each kv head: r has size 1 and may stand anywhere.
TEST(Gemm, FactorsOfSizeOneDoNotCount) {
  expectGemm(gemm("sbrgd,hgrd->sbh", {3, 2, 1, 2, 4}, {5, 2, 1, 4}), 6, 5, 8, false, true, false);
}

static std::string refusal(const char *spec, const std::vector<int64_t> &lhs, const std::vector<int64_t> &rhs) {
  std::string why;
  EXPECT_FALSE(asGemm(spec, lhs, rhs, why)) << spec;
  return why;
}

TEST(Gemm, Refused) {
  EXPECT_NE(refusal("bsh,bht->bst", {2, 3, 5}, {2, 5, 4}).find("\"b\""), std::string::npos);
  EXPECT_NE(refusal("sbx,bh->sh", {3, 2, 7}, {2, 5}).find("\"x\""), std::string::npos);
  // Rows g, s around the sum over h.
  EXPECT_NE(refusal("ghs,hf->gsf", {2, 5, 3}, {5, 4}).find("do not stand together"), std::string::npos);
}
