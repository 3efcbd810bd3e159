//===- MeshTest.cpp - Ranks, groups, L1 and L2 ----------------------------===//
//
// Where a rank stands, what a rank holds, and the words in which a layout is refused.
//
//===----------------------------------------------------------------------===//
#include "Matchers.h"

using namespace lf;

namespace {

const Mesh mesh({{"dp", 2}, {"cp", 2}, {"tp", 4}});

// The first axis of the mesh is the major one; a list of axes has an order of its own.
TEST(Mesh, IndexFollowsTheList) {
  EXPECT_EQ(mesh.world(), 16);
  EXPECT_EQ(mesh.index(13, {"dp", "cp", "tp"}), 13);
  EXPECT_EQ(mesh.index(13, {"tp"}), 1);
  EXPECT_EQ(mesh.index(13, {"cp"}), 1);
  EXPECT_EQ(mesh.index(13, {"tp", "cp"}), 1 * 2 + 1);
  EXPECT_EQ(mesh.index(13, {}), 0);
}

TEST(Mesh, GroupsDifferOnlyAlongTheirAxes) {
  const auto groups = mesh.groups({"tp", "dp"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (std::vector<int64_t>{0, 8, 1, 9, 2, 10, 3, 11}));
  EXPECT_EQ(groups[1], (std::vector<int64_t>{4, 12, 5, 13, 6, 14, 7, 15}));
  EXPECT_EQ(mesh.groups({}).size(), 16u);
}

TEST(Mesh, LocalShapeAndFlatPadding) {
  const Layout l{{{"cp", "tp"}, {}}, {}, {}, {"dp"}};
  EXPECT_EQ(mesh.localShape({16, 3}, l), (Shape{2, 3}));
  EXPECT_EQ(mesh.localElements({16, 3}, l), 3);
  EXPECT_EQ(mesh.localElements({8, 3}, l), 2); // 3 elements over 2 ranks: padded to 4
}

TEST(Mesh, RefusesItsAxes) {
  EXPECT_EQ(refusal([] { Mesh({{"tp", 2}, {"tp", 4}}); }), "expected each axis once in the mesh, got \"tp\" twice");
  EXPECT_EQ(refusal([] { Mesh({{"tp", 0}}); }), "expected the size of axis \"tp\" to be at least 1, got 0");
  EXPECT_EQ(refusal([] { mesh.size("ep"); }), "expected an axis of the mesh (\"dp\", \"cp\", \"tp\"), got \"ep\"");
  EXPECT_EQ(refusal([] { Mesh().size("ep"); }), "expected an axis of the mesh (it has none), got \"ep\"");
}

TEST(Layout, Spelling) {
  EXPECT_EQ((Layout{{{"cp", "tp"}, {}}, {}, {}, {}}.str()), "[{cp,tp}, {}]");
  EXPECT_EQ((Layout{{{}}, {"tp", "dp"}, Reduction::sum, {}}.str()), "[{}] sum<dp,tp>");
  EXPECT_EQ((Layout{{{"tp"}}, {"dp"}, Reduction::max, {"cp"}}.str()), "[{tp}] max<dp> flat<cp>");
  EXPECT_EQ(Layout::whole(0).str(), "[]");
}

TEST(Layout, L1RefusesAnAxisTwice) {
  const char *what = "expected each axis once in the layout of \"x\", got ";
  const auto refused = [](const Layout &l) { return refusal([&] { mesh.check(l, {16, 16}, "x"); }); };
  EXPECT_EQ(refused({{{"tp"}, {"tp"}}, {}, {}, {}}), std::string(what) + "[{tp}, {tp}]");
  EXPECT_EQ(refused({{{"tp"}, {}}, {"tp"}, {}, {}}), std::string(what) + "[{tp}, {}] sum<tp>");
  EXPECT_EQ(refused({{{}, {"dp"}}, {}, {}, {"cp", "dp"}}), std::string(what) + "[{}, {dp}] flat<cp,dp>");
  EXPECT_NO_THROW(mesh.check({{{"cp", "tp"}, {}}, {}, {}, {"dp"}}, {16, 16}, "x"));
}

TEST(Layout, L2RefusesADimThatDoesNotDivide) {
  EXPECT_EQ(refusal([] {
              mesh.check({{{}, {"tp"}}, {}, {}, {}}, {16, 2}, "wk");
            }),
            "expected dim 1 of \"wk\" to be a multiple of 4 (axis \"tp\" of size 4), got 2; split it over fewer ranks");
  EXPECT_EQ(
      refusal([] {
        mesh.check({{{"cp", "tp"}}, {}, {}, {}}, {12}, "x");
      }),
      "expected dim 0 of \"x\" to be a multiple of 8 (axes \"cp\" x \"tp\" of sizes 2 x 4), got 12; split it over "
      "fewer ranks");
  EXPECT_NO_THROW(mesh.check({{{}}, {}, {}, {"tp"}}, {7}, "x")); // flat pads
}

TEST(Layout, RefusesWhatTheValueOrTheMeshLacks) {
  EXPECT_EQ(refusal([] {
              mesh.check({{{}}, {}, {}, {}}, {4, 4}, "x");
            }),
            "expected the layout of \"x\" to have 2 dims, got [{}]");
  EXPECT_EQ(refusal([] {
              mesh.check({{{"ep"}}, {}, {}, {}}, {4}, "x");
            }),
            "expected an axis of the mesh (\"dp\", \"cp\", \"tp\"), got \"ep\" in the layout of \"x\"");
}

} // namespace
