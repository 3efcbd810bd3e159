//===- ConversionTest.cpp - The table of conversions, row by row ----------===//
//
// Steps and volume of every pair of forms: whole, split, partial (sum and max), flat; and what L1 and L3 forbid.
//
//===----------------------------------------------------------------------===//
#include "Matchers.h"

using namespace lf;

namespace {

const Mesh mesh({{"a", 2}, {"b", 4}, {"c", 2}});
const Shape shape{16, 16};
const std::set<std::string> none;

Layout split(std::vector<Axes> dims) { return {std::move(dims), {}, Reduction::sum, {}}; }
Layout partial(std::vector<Axes> dims, std::set<std::string> over, Reduction kind = Reduction::sum) {
  return {std::move(dims), std::move(over), kind, {}};
}
Layout flat(std::vector<Axes> dims, Axes over, std::set<std::string> part = {}) {
  return {std::move(dims), std::move(part), Reduction::sum, std::move(over)};
}
const Layout whole = Layout::whole(2);

std::string steps(const Layout &src, const Layout &dst) { return text(conversion(src, dst)); }
int64_t sent(const Layout &src, const Layout &dst) { return volume(mesh, conversion(src, dst), shape, src); }

TEST(Conversion, FromWhole) {
  EXPECT_EQ(steps(whole, whole), "");
  EXPECT_EQ(steps(whole, split({{}, {"a"}})), "slice a @1");
  EXPECT_EQ(sent(whole, split({{}, {"a"}})), 0);
  EXPECT_EQ(steps(whole, split({{"b", "a"}, {"c"}})), "slice b,a @0; slice c @1");
  EXPECT_EQ(steps(whole, partial({{}, {}}, {"b", "a"})), "mask a,b");
  EXPECT_EQ(sent(whole, partial({{}, {}}, {"a"})), 0);
  EXPECT_EQ(steps(whole, partial({{}, {}}, {"a"}, Reduction::max)), "mask max a");
  EXPECT_EQ(steps(whole, flat({{}, {}}, {"a", "b"})), "slice a,b @2");
}

TEST(Conversion, FromSplit) {
  const Layout src = split({{"b"}, {}});
  EXPECT_EQ(steps(src, whole), "all_gather b @0");
  EXPECT_EQ(sent(src, whole), 3 * 256 / 4);
  EXPECT_EQ(steps(src, src), "");
  EXPECT_EQ(steps(src, split({{}, {"b"}})), "all_to_all b 0>1");
  EXPECT_EQ(sent(src, split({{}, {"b"}})), 64 * 3 / 4);
  EXPECT_EQ(steps(src, partial({{}, {}}, {"b"})), "all_gather b @0; mask b");
  EXPECT_EQ(steps(src, flat({{}, {}}, {"b"})), "all_gather b @0; slice b @2");
  EXPECT_EQ(steps(split({{"a", "b"}, {}}), whole), "all_gather a,b @0");
}

TEST(Conversion, FromPartial) {
  for (const Reduction kind : {Reduction::sum, Reduction::max}) {
    const std::string k = kind == Reduction::max ? " max" : "";
    const Layout src = partial({{}, {}}, {"b"}, kind);
    EXPECT_EQ(steps(src, whole), "all_reduce" + k + " b");
    EXPECT_EQ(sent(src, whole), 2 * 256 * 3 / 4);
    EXPECT_EQ(steps(src, split({{}, {"b"}})), "reduce_scatter" + k + " b @1");
    EXPECT_EQ(sent(src, split({{}, {"b"}})), 256 * 3 / 4);
    EXPECT_EQ(steps(src, src), "");
    EXPECT_EQ(steps(src, flat({{}, {}}, {"b"})), "reduce_scatter" + k + " b @2");
    EXPECT_EQ(steps(partial({{}, {}}, {"a", "b"}, kind), split({{"b", "a"}, {}})), "reduce_scatter" + k + " b,a @0");
    EXPECT_EQ(steps(partial({{}, {}}, {"a", "b"}, kind), partial({{}, {}}, {"b"}, kind)), "all_reduce" + k + " a");
  }
  EXPECT_EQ(steps(partial({{}, {}}, {"a", "b", "c"}), whole), "all_reduce a,b,c");
}

// Slices come before sums and sums before gathers, so that the data is small when it moves.
TEST(Conversion, SmallFirst) {
  EXPECT_EQ(steps(partial({{"c"}, {}}, {"b"}), split({{"c", "b"}, {"a"}})), "slice a @1; reduce_scatter b @0");
  EXPECT_EQ(steps(partial({{"c"}, {}}, {"b"}), whole), "all_reduce b; all_gather c @0");
  EXPECT_EQ(steps(split({{"a", "b"}, {}}), split({{"a"}, {"b"}})), "all_to_all b 0>1");
}

// Axes that leave the end of one dim for the end of another move as one unit, in one collective.
TEST(Conversion, AllToAllMovesUnits) {
  const auto out = conversion(split({{"a", "b", "c"}, {}}), split({{"a"}, {"b", "c"}}));
  EXPECT_EQ(text(out), "all_to_all b,c 0>1");
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].moves, (std::vector<Step::Move>{{{"b", "c"}, 0, 1}}));
  EXPECT_EQ(sent(split({{"a", "b", "c"}, {}}), split({{"a"}, {"b", "c"}})), 16 * 7 / 8);
  // Two moves that follow each other are one message over the product group.
  const Layout s3 = split({{"a"}, {"b"}, {}}), d3 = split({{}, {}, {"a", "b"}});
  EXPECT_EQ(steps(s3, d3), "all_to_all a 0>2 b 1>2");
  EXPECT_EQ(conversion(s3, d3)[0].axes, (Axes{"a", "b"}));
}

// L3: only minor-most axes come and go. The order (tp, cp) of a sequence costs a gather where (cp, tp) costs none.
TEST(Conversion, L3OrderCosts) {
  EXPECT_EQ(steps(split({{"a", "b"}, {}}), split({{"a"}, {}})), "all_gather b @0");
  EXPECT_EQ(steps(split({{"b", "a"}, {}}), split({{"a"}, {}})), "all_gather b,a @0; slice a @0");
  EXPECT_EQ(steps(split({{"b", "a"}, {}}), split({{"a", "b"}, {}})), "all_gather b,a @0; slice a,b @0");
  EXPECT_EQ(steps(split({{"a"}, {"b"}}), split({{"b"}, {"a"}})), "all_gather a @0; all_to_all b 1>0; slice a @1");
}

// Storage form is entered last and left first.
TEST(Conversion, Flat) {
  EXPECT_EQ(steps(flat({{}, {"b"}}, {"a", "c"}), split({{}, {"b"}})), "all_gather a,c @2");
  EXPECT_EQ(sent(flat({{}, {"b"}}, {"a", "c"}), split({{}, {"b"}})), 64 * 3 / 4);
  EXPECT_EQ(steps(flat({{}, {"b"}}, {"a"}), whole), "all_gather a @2; all_gather b @1");
  EXPECT_EQ(steps(whole, flat({{}, {"b"}}, {"a"})), "slice b @1; slice a @2");
  EXPECT_EQ(steps(partial({{}, {"b"}}, {"a", "c"}), flat({{}, {"b"}}, {"a", "c"})), "reduce_scatter a,c @2");
  // ZeRO 1 of a norm weight: reduce-scatter over dp, then the sum over tp on the shard.
  EXPECT_EQ(steps(partial({{}, {}}, {"a", "b"}), flat({{}, {}}, {"a"})), "reduce_scatter a @2; all_reduce b");
  EXPECT_EQ(steps(partial({{}, {}}, {"a", "b"}), flat({{}, {}}, {"a"}, {"b"})), "reduce_scatter a @2");
  EXPECT_EQ(steps(flat({{}, {}}, {"a"}, {"b"}), flat({{}, {}}, {"a"})), "all_reduce b");
}

// The padding of a flat shard belongs to its whole list of axes: the block is cut once.
TEST(Conversion, FlatIsCutOnce) {
  EXPECT_EQ(steps(partial({{}, {}}, {"b"}), flat({{}, {}}, {"a", "b"})), "mask a; reduce_scatter a,b @2");
  EXPECT_EQ(steps(flat({{}, {}}, {"a", "b"}), flat({{}, {}}, {"a"})), "all_gather a,b @2; slice a @2");
}

TEST(Conversion, Refusals) {
  EXPECT_EQ(refusal([] { conversion(whole, Layout::whole(3)); }),
            "expected a conversion from [{}, {}] to [{}, {}, {}], got none: 2 dims against 3");
  EXPECT_EQ(refusal([] {
              conversion(whole, split({{"a"}, {"a"}}));
            }),
            "expected a conversion from [{}, {}] to [{a}, {a}], got none: an axis occurs twice (rule L1)");
  EXPECT_EQ(
      refusal([] {
        conversion(partial({{}, {}}, {"a"}), partial({{}, {}}, {"a"}, Reduction::max));
      }),
      "expected a conversion from [{}, {}] sum<a> to [{}, {}] max<a>, got none: an unfinished reduction keeps its "
      "kind");
}

TEST(After, RefusesStepsThatTheRulesForbid) {
  EXPECT_EQ(refusal([] {
              after(split({{"a", "b"}, {}}), {StepKind::allGather, {"a"}, 0, {}, {}});
            }),
            "expected the minor-most axes of dim 0 (rule L3) for all_gather over \"a\", got [{a,b}, {}]");
  EXPECT_EQ(refusal([] {
              after(split({{"a", "b"}, {}}), {StepKind::allToAll, {"a"}, -1, {{{"a"}, 0, 1}}, {}});
            }),
            "expected the minor-most axes of dim 0 (rule L3) for all_to_all over \"a\", got [{a,b}, {}]");
  EXPECT_EQ(refusal([] {
              after(split({{"a"}, {}}), {StepKind::slice, {"a"}, 1, {}, {}});
            }),
            "expected a value whole over \"a\" (rule L1) for slice over \"a\", got [{a}, {}]");
  EXPECT_EQ(refusal([] {
              after(whole, {StepKind::allReduce, {"a"}, -1, {}, {}});
            }),
            "expected a value partial over \"a\" for all_reduce over \"a\", got [{}, {}]");
  EXPECT_EQ(refusal([] {
              after(whole, {StepKind::slice, {"a"}, 7, {}, {}});
            }),
            "expected a dim from 0 to 2 instead of 7 for slice over \"a\", got [{}, {}]");
}

} // namespace
