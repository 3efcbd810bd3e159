//===- RefineTest.cpp - Dense and expert names of one mesh ----------------===//
//
// Which atoms two factorings have in common, what they are called, and which factorings do not meet.
//
//===----------------------------------------------------------------------===//
#include "lf/Layout/Refine.h"
#include "Matchers.h"

using namespace lf;

namespace {

using Sizes = std::vector<std::pair<std::string, int64_t>>;

TEST(Refine, ExpertAxesCutDenseOnes) {
  const Refinement r =
      refine({{"dense", {{"dp", 4}, {"cp", 1}, {"tp", 2}}}, {"expert", {{"edp", 2}, {"ep", 4}, {"etp", 1}}}});
  EXPECT_EQ(r.mesh.axes(), (Sizes{{"dp0", 2}, {"dp1", 2}, {"tp", 2}}));
  EXPECT_EQ(r.names.at("dp"), (Axes{"dp0", "dp1"}));
  EXPECT_EQ(r.names.at("tp"), (Axes{"tp"}));
  EXPECT_EQ(r.names.at("edp"), (Axes{"dp0"}));
  EXPECT_EQ(r.names.at("ep"), (Axes{"dp1", "tp"}));
  EXPECT_TRUE(r.names.at("cp").empty());
  EXPECT_TRUE(r.names.at("etp").empty());
}

// The atoms stand for the same ranks as the axes that they refine.
TEST(Refine, RanksKeepTheirPlace) {
  const Refinement r =
      refine({{"dense", {{"dp", 6}, {"cp", 2}, {"tp", 4}}}, {"expert", {{"edp", 3}, {"ep", 8}, {"etp", 2}}}});
  const Mesh dense({{"dp", 6}, {"cp", 2}, {"tp", 4}}), expert({{"edp", 3}, {"ep", 8}, {"etp", 2}});
  ASSERT_EQ(r.mesh.world(), 48);
  for (int64_t rank = 0; rank < 48; ++rank) {
    for (const char *axis : {"dp", "cp", "tp"})
      EXPECT_EQ(r.mesh.index(rank, r.names.at(axis)), dense.index(rank, {axis})) << axis << " of rank " << rank;
    for (const char *axis : {"edp", "ep", "etp"})
      EXPECT_EQ(r.mesh.index(rank, r.names.at(axis)), expert.index(rank, {axis})) << axis << " of rank " << rank;
  }
}

// A third view splits tp into the part that splits kv heads and the part that repeats them.
TEST(Refine, KvHeadsBelowTp) {
  const Refinement r =
      refine({{"dense", {{"dp", 2}, {"tp", 8}}}, {"kv heads", {{"dp", 2}, {"tp_kv", 4}, {"tp_rep", 2}}}});
  EXPECT_EQ(r.mesh.axes(), (Sizes{{"dp", 2}, {"tp0", 4}, {"tp1", 2}}));
  EXPECT_EQ(r.names.at("tp_kv"), (Axes{"tp0"}));
  EXPECT_EQ(r.names.at("tp_rep"), (Axes{"tp1"}));
}

TEST(Refine, OneRank) {
  EXPECT_TRUE(refine({}).mesh.axes().empty());
  EXPECT_TRUE(refine({{"dense", {{"dp", 1}, {"tp", 1}}}}).mesh.axes().empty());
}

TEST(Refine, Refusals) {
  EXPECT_EQ(
      refusal([] {
        refine({{"dense", {{"dp", 3}, {"tp", 2}}}, {"expert", {{"edp", 2}, {"ep", 3}}}});
      }),
      "expected strides of \"dense\" (dp 3 x tp 2) and \"expert\" (edp 2 x ep 3) that divide one another, got 2 and 3; "
      "choose sizes of which one is a multiple of the other");
  EXPECT_EQ(refusal([] {
              refine({{"dense", {{"dp", 4}, {"tp", 2}}}, {"expert", {{"ep", 4}}}});
            }),
            "expected the axes of \"expert\" (ep 4) to have the product 8 of \"dense\" (dp 4 x tp 2), got 4");
  EXPECT_EQ(refusal([] {
              refine({{"dense", {{"dp", 4}, {"tp", 2}}}, {"expert", {{"ep", 4}, {"dp", 2}}}});
            }),
            "expected axis \"dp\" to mean the same ranks in each view, got size 4 at stride 2 and size 2 at stride 1");
  EXPECT_EQ(refusal([] {
              refine({{"dense", {{"dp", 0}}}});
            }),
            "expected the size of axis \"dp\" to be at least 1, got 0");
}

} // namespace
