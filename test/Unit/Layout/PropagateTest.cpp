//===- PropagateTest.cpp - The rules on graphs of a few ops ---------------===//
//
// One property of P1, P2 and P4 each, and every refusal with its exact words and its sources.
//
//===----------------------------------------------------------------------===//
#include "Matchers.h"
#include "MiniPartition.h"

using namespace lf;
using namespace lf::mini;

namespace {

const Mesh mesh({{"dp", 2}, {"tp", 2}});

/// A forward of elementwise ops and products, by names.
struct Small {
  Graph g;
  std::map<std::string, int> at;

  int value(const std::string &name, Shape shape, ValueRole role = ValueRole::input) {
    GValue v;
    v.name = name;
    v.shape = std::move(shape);
    v.role = role;
    g.values.push_back(v);
    return at[name] = int(g.values.size()) - 1;
  }
  GValue &operator[](const std::string &name) { return g.values[at.at(name)]; }
  void seed(const std::string &name, std::vector<Axes> dims) {
    (*this)[name].seed = Layout{std::move(dims), {}, {}, {}};
  }
  GOp &op(const std::string &name, std::vector<std::string> operands, std::vector<std::string> letters,
          const std::string &result, const std::string &made, Shape shape) {
    GOp o;
    o.rule.operands = std::move(letters);
    o.rule.results = {made};
    for (const std::string &n : operands)
      o.operands.push_back(at.at(n));
    o.results = {value(result, std::move(shape), ValueRole::act)};
    (*this)[result].op = int(g.forward.size());
    (*this)[result].result = 0;
    o.name = name + " \"" + result + "\" (layer0)";
    g.forward.push_back(o);
    return g.forward.back();
  }
  std::string home(const std::string &name) { return propagate(mesh, g).home[at.at(name)]->str(); }
  std::string refused() {
    return refusal([&] { propagate(mesh, g); });
  }
};

Small product() {
  Small s;
  s.value("x", {8, 4});
  s.value("w", {4, 6}, ValueRole::param);
  s.op("matmul", {"x", "w"}, {"sh", "hf"}, "y", "sf", {8, 6}).rule.linear = {0, 1};
  return s;
}

// P2: the parameter is stronger than a seeded operand: weights are stationary, the activation is gathered.
TEST(Propagate, ParameterBeforeOperand) {
  Small s = product();
  s.seed("x", {{"tp"}, {}});
  s.seed("w", {{}, {"tp"}});
  const Propagated p = propagate(mesh, s.g);
  EXPECT_EQ(p.roles[0], (Roles{{'f', {"tp"}}}));
  EXPECT_EQ(p.home[s.at["y"]]->str(), "[{}, {tp}]");
  EXPECT_EQ(required(s.g.op(0), 0, p.roles[0]).str(), "[{}, {}]");
}

// A contracted factor leaves the result partial; its home is finished.
TEST(Propagate, ContractionIsPartial) {
  Small s = product();
  s.seed("w", {{"tp"}, {}});
  const Propagated p = propagate(mesh, s.g);
  EXPECT_EQ(natural(s.g.op(0), 0, p.roles[0]).str(), "[{}, {}] sum<tp>");
  EXPECT_EQ(p.home[s.at["y"]]->str(), "[{}, {}]");
  s.g.forward[0].rule.reduction = Reduction::max;
  EXPECT_EQ(natural(s.g.op(0), 0, p.roles[0]).str(), "[{}, {}] max<tp>");
}

// P1 up: the layout of the residual stream reaches the row-parallel output, so that it is scattered before the sum.
TEST(Propagate, UpFromTheResidual) {
  Small s = product();
  s.seed("w", {{"tp"}, {}});
  s.value("r", {8, 6});
  s.seed("r", {{"tp"}, {}});
  s.op("sum", {"r", "y"}, {"ab", "ab"}, "z", "ab", {8, 6}).rule.isSum = true;
  EXPECT_EQ(s.home("y"), "[{tp}, {}]");
  EXPECT_EQ(s.home("z"), "[{tp}, {}]");
}

// ... but never splits a dim that the producer must compute whole.
TEST(Propagate, UpStopsAtABlockedDim) {
  Small s;
  s.value("x", {8, 4});
  s.op("softmax", {"x"}, {"sh"}, "y", "sh", {8, 4}).rule.blocked = "h";
  s.value("r", {8, 4});
  s.seed("r", {{}, {"tp"}});
  s.op("mul", {"y", "r"}, {"sh", "sh"}, "z", "sh", {8, 4});
  EXPECT_EQ(s.home("y"), "[{}, {}]");
  EXPECT_EQ(s.home("z"), "[{}, {tp}]");
  s.g.forward[0].rule.blocked = "";
  EXPECT_EQ(s.home("y"), "[{}, {tp}]");
}

// A closed axis repeats the op: it plays no role even where another operand has it.
TEST(Propagate, ClosedAxisPlaysNoRole) {
  Small s = product();
  s.seed("x", {{"tp"}, {}});
  s["w"].closed = {"tp"};
  EXPECT_EQ(propagate(mesh, s.g).roles[0], Roles());
  EXPECT_EQ(propagate(mesh, s.g, {"closed"}).roles[0], (Roles{{'s', {"tp"}}}));
}

// P4: a loss sum may leave the function partial, a seeded value may not, and neither may one that is used again.
TEST(Propagate, OnlyEndsStayPartial) {
  Small s;
  s.value("x", {8, 4});
  s.seed("x", {{"dp"}, {"tp"}});
  s.op("sum_all", {"x"}, {"sb"}, "loss", "", {}).rule.linear = {0};
  EXPECT_EQ(s.home("loss"), "[]");
  s["loss"].output = true;
  EXPECT_EQ(s.home("loss"), "[] sum<dp,tp>");
  s.seed("loss", {});
  EXPECT_EQ(s.home("loss"), "[]");
  s["loss"].seed.reset();
  s.op("square", {"loss"}, {""}, "more", "", {});
  EXPECT_EQ(s.home("loss"), "[]");
}

// P4: a loss term that is also reported by itself merges into the whole loss unfinished.
TEST(Propagate, LossTermsStayPartial) {
  Small s;
  for (const char *n : {"x", "u"}) {
    s.value(n, {8});
    s.seed(n, {{"tp"}});
    s.op("sum_all", {n}, {"s"}, std::string("loss_") + n, "", {}).rule.linear = {0};
  }
  s.op("sum", {"loss_x", "loss_u"}, {"", ""}, "loss", "", {}).rule.isSum = true;
  s["loss"].output = s["loss_u"].output = true;
  for (const char *n : {"loss_x", "loss_u", "loss"})
    EXPECT_EQ(s.home(n), "[] sum<tp>") << n;
}

// A layer as a function of its own: cotangents enter and leave it finished, in the home of the value; the gradient of
// the weight leaves partial.
TEST(Propagate, FunctionBoundary) {
  Small s = product();
  s["x"].role = ValueRole::act;
  s.seed("x", {{"dp", "tp"}, {}});
  s.seed("y", {{"dp"}, {"tp"}});
  s.seed("w", {{}, {"tp"}});
  s["y"].output = true;
  const int x = s.at["x"], w = s.at["w"], dy = s.value("dy", {8, 6}, ValueRole::cotangent);
  s["dy"].primal = s.at["y"];
  const auto adjoint = [&](const char *name, std::vector<int> operands, std::vector<std::string> letters, int of,
                           std::string made, ValueRole role) {
    const int v = s.value(name, s.g.values[of].shape, role);
    s[name].primal = of;
    s[name].op = int(s.g.forward.size() + s.g.backward.size());
    s[name].result = 0;
    s[name].output = true;
    GOp o;
    o.name = name;
    o.rule.operands = std::move(letters);
    o.rule.results = {std::move(made)};
    o.rule.linear = {0, 1};
    o.operands = std::move(operands);
    o.results = {v};
    o.of = 0;
    s.g.backward.push_back(o);
  };
  adjoint("dx", {dy, w}, {"sf", "hf"}, x, "sh", ValueRole::cotangent);
  adjoint("dw", {x, dy}, {"sh", "sf"}, w, "hf", ValueRole::grad);
  const Propagated p = propagate(mesh, s.g);
  EXPECT_EQ(p.roles[1], (Roles{{'s', {"dp"}}, {'f', {"tp"}}}));
  EXPECT_EQ(natural(s.g.op(1), 0, p.roles[1]).str(), "[{dp}, {}] sum<tp>");
  EXPECT_EQ(s.home("dy"), "[{dp}, {tp}]");
  EXPECT_EQ(s.home("dx"), "[{dp,tp}, {}]");
  EXPECT_EQ(s.home("dw"), "[{}, {tp}] sum<dp>");
}

// P4: of two partial factors of a product, one is finished.
TEST(Propagate, OneFactorOfAProductIsFinished) {
  Small s;
  for (const char *n : {"x", "u"}) {
    s.value(n, {8, 4});
    s.seed(n, {{"tp"}, {}});
    s.op("reduce", {n}, {"se"}, std::string("sum_") + n, "e", {4}).rule.linear = {0};
  }
  s.op("mul", {"sum_x", "sum_u"}, {"e", "e"}, "p", "e", {4}).rule.linear = {0, 1};
  s["p"].output = true;
  EXPECT_EQ(s.home("sum_x"), "[{}]");
  EXPECT_EQ(s.home("sum_u"), "[{}] sum<tp>");
  EXPECT_EQ(s.home("p"), "[{}] sum<tp>");
}

// A maximum does not merge by adding.
TEST(Propagate, MaximumIsFinished) {
  Small s;
  for (const char *n : {"x", "u"}) {
    s.value(n, {8, 4});
    s.seed(n, {{"tp"}, {}});
    s.op("row_max", {n}, {"se"}, std::string("max_") + n, "e", {4}).rule.reduction = Reduction::max;
  }
  s.op("sum", {"max_x", "max_u"}, {"e", "e"}, "p", "e", {4}).rule.isSum = true;
  EXPECT_EQ(s.home("max_x"), "[{}]");
  EXPECT_EQ(s.home("p"), "[{}]");
}

// The strongest claimant orders the axes of a factor.
TEST(Propagate, OrderOfAxesFollowsTheStrongest) {
  Small s = product();
  s.seed("x", {{}, {"dp", "tp"}});
  s.seed("w", {{"tp", "dp"}, {}});
  EXPECT_EQ(propagate(mesh, s.g).roles[0], (Roles{{'h', {"tp", "dp"}}}));
}

TEST(Refused, TwoAnnotationsThatClash) {
  Plan plan;
  plan.mesh = {{"tp", 2}};
  plan.tp = {"tp"};
  const std::map<std::string, Layout> seeds = {{"s.0", {{{"tp"}, {}, {}}, {}, {}, {}}},
                                               {"u.0", {{{}, {}, {"tp"}}, {}, {}, {}}}};
  try {
    Compiled(Config(), plan, {}, seeds);
    FAIL() << "nothing was refused";
  } catch (const LayoutError &e) {
    EXPECT_STREQ(e.what(),
                 "expected one role for axis \"tp\" in mul \"a.0\" (layer0), got factor \"s\" from \"s.0\" and "
                 "factor \"f\" from \"u.0\"; annotate one of them");
    const Program p(Config{}, plan);
    EXPECT_EQ(e.sources, (std::vector<int>{p.named.at("s.0"), p.named.at("u.0")}));
    EXPECT_EQ(p.graph.op(e.op).name, "mul \"a.0\" (layer0)");
  }
}

// Two parameters never yield to each other, whatever it costs.
TEST(Refused, TwoParameters) {
  Small s = product();
  s.at["v"] = s.at["x"];
  s["x"].role = ValueRole::param;
  s.seed("x", {{"tp"}, {}});
  s.seed("w", {{}, {"tp"}});
  EXPECT_EQ(s.refused(), "expected one role for axis \"tp\" in matmul \"y\" (layer0), got factor \"s\" from \"x\" and "
                         "factor \"f\" from \"w\"; annotate one of them");
  s.seed("w", {{}, {}});
  s["w"].closed = {"tp"};
  EXPECT_EQ(s.refused(), "expected one role for axis \"tp\" in matmul \"y\" (layer0), got factor \"s\" from \"x\" and "
                         "no role (closed) from \"w\"; annotate one of them");
}

TEST(Refused, KvHeadsBelowTp) {
  Config c;
  c.groups = 2;
  Plan plan;
  plan.mesh = {{"tp", 4}};
  plan.tp = {"tp"};
  EXPECT_EQ(
      refusal([&] { Compiled(c, plan); }),
      "expected dim 1 of \"wq.0\" to be a multiple of 4 (axis \"tp\" of size 4), got 2; split it over fewer ranks");
}

TEST(Refused, UlyssesWithTooFewKvHeads) {
  Config c;
  c.groups = 2;
  Plan plan;
  plan.mesh = {{"cp", 2}, {"tp", 2}};
  plan.cp = {"cp"};
  plan.tp = {"tp"};
  plan.cpType = "a2a";
  EXPECT_EQ(
      refusal([&] { Compiled(c, plan); }),
      "expected factor \"g\" of attention \"o.0\" (layer0) to be a multiple of 4 (axes \"tp\" x \"cp\" of sizes 2 x "
      "2), got 2; split it over fewer ranks");
}

TEST(Refused, Seeds) {
  Small s = product();
  s["x"].seed = Layout{{{}, {}}, {"tp"}, {}, {}};
  EXPECT_EQ(s.refused(), "expected the seed of \"x\" to be finished and not flat, got [{}, {}] sum<tp>");
  s.seed("x", {{"ep"}, {}});
  EXPECT_EQ(s.refused(), "expected an axis of the mesh (\"dp\", \"tp\"), got \"ep\" in the layout of \"x\"");
  s.seed("x", {{}, {}});
  s["w"].closed = {"ep"};
  EXPECT_EQ(s.refused(), "expected the closed axes of \"w\" to be axes of the mesh, got \"ep\"");
}

TEST(Refused, Pins) {
  Small s = product();
  GOp &op = s.g.forward[0];
  op.pin = Roles{{'q', {"tp"}}};
  EXPECT_EQ(s.refused(), "expected the pin of matmul \"y\" (layer0) to name factors of its rule, got factor \"q\"");
  op.pin = Roles{{'s', {"ep"}}};
  EXPECT_EQ(s.refused(), "expected the pin of matmul \"y\" (layer0) to name axes of the mesh, got \"ep\"");
  op.pin = Roles{{'f', {"tp"}}, {'s', {"tp"}}};
  EXPECT_EQ(
      s.refused(),
      "expected one role for axis \"tp\" in matmul \"y\" (layer0), got factor \"f\" and factor \"s\" from its pin");
  op.rule.ring = "fs"; // the one exception: the op exchanges along the axis by itself
  EXPECT_EQ(natural(op, 0, *op.pin).str(), "[{tp}, {tp}]");
  op.rule.ring = "";
  op.pin = Roles{{'h', {"tp"}}};
  op.rule.blocked = "h";
  EXPECT_EQ(s.refused(),
            "expected factor \"h\" of matmul \"y\" (layer0) to be whole, since its kernel needs all of it, got "
            "axes tp");
}

TEST(Refused, RulesThatDoNotFitTheirOp) {
  Small s = product();
  s.g.forward[0].rule.operands = {"sh"};
  EXPECT_EQ(s.refused(), "expected the rule of matmul \"y\" (layer0) to describe 2 operands, got 1");
  s.g.forward[0].rule.operands = {"sh", "h"};
  EXPECT_EQ(s.refused(), "expected 2 factors for \"w\" in matmul \"y\" (layer0), got \"h\"");
  s.g.forward[0].rule.operands = {"sh", "fh"};
  EXPECT_EQ(s.refused(), "expected dim 1 of \"w\" in matmul \"y\" (layer0) to be 4 (factor \"h\"), got 6");
}

} // namespace
