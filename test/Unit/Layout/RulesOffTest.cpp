//===- RulesOffTest.cpp - What each rule is worth -------------------------===//
//
// Without a rule the model still computes the same, but with more collectives. Each case fails if the rule is lost, and
// also if the rule stops mattering.
//
//===----------------------------------------------------------------------===//
#include "MiniPartition.h"
#include <gtest/gtest.h>
#include <ostream>

using namespace lf;
using namespace lf::mini;

namespace {

struct Case {
  std::string rule;
  Config config;
  Plan plan;
  std::string layerWith, layerWithout;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.rule; }

Plan tpSp() {
  Plan p;
  p.mesh = {{"tp", 2}};
  p.tp = {"tp"};
  p.sp = true;
  return p;
}

Plan fewKv() {
  Plan p;
  p.mesh = {{"tp_kv", 2}, {"tp_rep", 2}};
  p.tp = {"tp_kv", "tp_rep"};
  p.kv = Axes{"tp_kv"};
  p.sp = true;
  return p;
}

Plan ulysses() {
  Plan p;
  p.mesh = {{"cp", 2}};
  p.cp = {"cp"};
  p.cpType = "a2a";
  return p;
}

Plan experts(const char *dispatcher) {
  Plan p = tpSp();
  p.ep = {"tp"};
  p.dispatcher = dispatcher;
  return p;
}

Config config(int64_t groups, int64_t numExperts, bool balance) {
  Config c;
  c.groups = groups;
  c.rep = 8 / groups;
  c.experts = numExperts;
  c.balanceLoss = balance;
  return c;
}

const std::vector<Case> cases = {
    {"R1", config(4, 0, false), tpSp(), "fwd 2AG 2RS | bwd 4AG 2RS", "fwd 5AG 2RS | bwd 9AG 2RS"},
    {"R2", config(4, 0, false), tpSp(), "fwd 2AG 2RS | bwd 4AG 2RS", "fwd 2AG 2RS | bwd 4AG 5RS"},
    {"P4", config(2, 0, false), fewKv(), "fwd 2AG 2RS | bwd 4AG 2RS", "fwd 2AG 2RS | bwd 4AG 2AR 3RS"},
    {"closed", config(2, 0, false), fewKv(), "fwd 2AG 2RS | bwd 4AG 2RS", "fwd 4AG 2RS | bwd 8AG 5RS"},
    {"R3", config(4, 0, false), ulysses(), "fwd 4A2A | bwd 4A2A", "fwd 4A2A | bwd 8A2A"},
    {"P1b", config(4, 4, false), experts("allgather"), "fwd 2AG 1A2A 2RS | bwd 3AG 1A2A 2RS",
     "fwd 2AG 2A2A 2RS | bwd 3AG 3A2A 2RS"},
    {"B3", config(4, 4, true), experts("alltoall"), "fwd 1AG 1AR 2A2A 1RS | bwd 2AG 2A2A 1RS",
     "fwd 1AG 2AR 2A2A 1RS | bwd 2AG 2A2A 1RS"},
};

class WithoutRule : public testing::TestWithParam<Case> {};

TEST_P(WithoutRule, CostsCollectives) {
  const Case &c = GetParam();
  EXPECT_EQ(Compiled(c.config, c.plan).counts("layer0"), c.layerWith);
  EXPECT_EQ(Compiled(c.config, c.plan, {c.rule}).counts("layer0"), c.layerWithout);
}

INSTANTIATE_TEST_SUITE_P(Rules, WithoutRule, testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.rule; });

} // namespace
