//===- CountsTest.cpp - The collectives of a layer under each strategy ----===//
//
// A lost sharing changes no value of the model, so the counts are pinned here: in each layer, and outside the layers;
// also the axes over which gradients leave the backward partial, and what crosses from forward to backward.
//
//===----------------------------------------------------------------------===//
#include "MiniPartition.h"
#include <functional>
#include <gtest/gtest.h>
#include <ostream>
#include <tuple>

using namespace lf;
using namespace lf::mini;

namespace {

Plan plan(int64_t dp, int64_t cp, int64_t tp, bool sp = false) {
  Plan p;
  p.sp = sp;
  for (const auto &[name, size, list] :
       std::vector<std::tuple<std::string, int64_t, Axes *>>{{"dp", dp, &p.dp}, {"cp", cp, &p.cp}, {"tp", tp, &p.tp}})
    if (size > 1) {
      p.mesh.emplace_back(name, size);
      *list = {name};
    }
  return p;
}

/// tp 4 with two kv heads: one part of tp splits them, the other repeats them.
Plan fewKv(bool sp) {
  Plan p;
  p.mesh = {{"tp_kv", 2}, {"tp_rep", 2}};
  p.tp = {"tp_kv", "tp_rep"};
  p.kv = Axes{"tp_kv"};
  p.sp = sp;
  return p;
}

Plan with(Plan p, const std::function<void(Plan &)> &change) {
  change(p);
  return p;
}

Config model(const std::function<void(Config &)> &change) {
  Config c;
  change(c);
  return c;
}

const Config dense, kv2 = model([](Config &c) { c.groups = 2, c.rep = 4; });
const Config moe = model([](Config &c) { c.experts = 4; }),
             shared = model([](Config &c) { c.experts = 4, c.sharedExpert = true; });
const char *const tpSp = "fwd 2AG 2RS | bwd 4AG 2RS";

struct Row {
  std::string name;
  Config config;
  Plan plan;
  std::string layer;
  std::map<std::string, std::string> partial; ///< parameter -> axes that its gradient is partial over
};

void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

const std::vector<Row> rows = {
    {"dp", dense, plan(2, 1, 1), "fwd - | bwd -", {{"wq.0", "dp"}, {"norm1.0", "dp"}}},
    {"tp2", dense, plan(1, 1, 2), "fwd 2AR | bwd 2AR", {{"wq.0", ""}, {"norm1.0", ""}}},
    {"tp4", dense, plan(1, 1, 4), "fwd 2AR | bwd 2AR", {}},
    {"tp2_sp", dense, plan(1, 1, 2, true), tpSp, {{"wq.0", ""}, {"norm1.0", "tp"}, {"final", "tp"}}},
    {"dp2_tp2_sp", dense, plan(2, 1, 2, true), tpSp, {{"wq.0", "dp"}, {"wo.0", "dp"}, {"norm1.0", "dp tp"}}},
    {"dp2_cp2_tp2_sp",
     dense,
     plan(2, 2, 2, true),
     "fwd 4AG 2RS | bwd 6AG 4RS",
     {{"wq.0", "cp dp"}, {"norm1.0", "cp dp tp"}, {"embedding", "cp dp"}}},
    {"kv_heads_below_tp",
     kv2,
     fewKv(false),
     "fwd 2AR | bwd 2AR",
     {{"wk.0", "tp_rep"}, {"wv.0", "tp_rep"}, {"wq.0", ""}}},
    {"kv_heads_below_tp_sp", kv2, fewKv(true), tpSp, {{"wk.0", "tp_rep"}, {"norm1.0", "tp_kv tp_rep"}}},
    {"kv_heads_below_tp_sp_qk_norm",
     model([](Config &c) { c.groups = 2, c.rep = 4, c.qkNorm = true; }),
     fewKv(true),
     tpSp,
     {{"qnorm.0", "tp_kv tp_rep"}, {"knorm.0", "tp_kv tp_rep"}}},
    {"qk_norm",
     model([](Config &c) { c.qkNorm = true; }),
     plan(1, 1, 2),
     "fwd 2AR | bwd 2AR",
     {{"qnorm.0", "tp"}, {"norm1.0", ""}}},
    {"dropout", model([](Config &c) { c.dropout = true; }), plan(2, 2, 2, true), "fwd 4AG 2RS | bwd 6AG 4RS", {}},
    {"parallel_block_tp", model([](Config &c) { c.parallelBlock = true; }), plan(1, 1, 2), "fwd 1AR | bwd 1AR", {}},
    {"parallel_block_tp_sp",
     model([](Config &c) { c.parallelBlock = true; }),
     plan(1, 1, 2, true),
     "fwd 1AG 1RS | bwd 2AG 1RS",
     {}},
    {"tied", model([](Config &c) { c.tied = true; }), plan(1, 1, 2, true), tpSp, {{"embedding", ""}}},
    {"padded_vocabulary", model([](Config &c) { c.vocab = 32 + 4; }), plan(1, 1, 4, true), tpSp, {}},
    {"zero3", dense, with(plan(2, 1, 1), [](Plan &p) { p.zero = 3; }), "fwd 9AG | bwd 9AG", {{"wq.0", "dp"}}},
    {"zero3_dp2_cp2_tp2_sp",
     dense,
     with(plan(2, 2, 2, true), [](Plan &p) { p.zero = 3; }),
     "fwd 13AG 2RS | bwd 15AG 4RS",
     {}},
    {"cp2_allgather", dense, plan(1, 2, 1), "fwd 2AG | bwd 2AG 2RS", {{"wq.0", "cp"}, {"norm1.0", "cp"}}},
    {"cp4_a2a", dense, with(plan(1, 4, 1), [](Plan &p) { p.cpType = "a2a"; }), "fwd 4A2A | bwd 4A2A", {}},
    {"cp2_ring", dense, with(plan(1, 2, 1), [](Plan &p) { p.cpType = "ring"; }), "fwd - | bwd -", {{"wk.0", "cp"}}},
    {"cp2_tp2_sp_a2a",
     dense,
     with(plan(1, 2, 2, true), [](Plan &p) { p.cpType = "a2a"; }),
     "fwd 2AG 4A2A 2RS | bwd 4AG 4A2A 2RS",
     {}},
    {"cp2_tp2_sp_ring", dense, with(plan(1, 2, 2, true), [](Plan &p) { p.cpType = "ring"; }), tpSp, {}},
    {"cp_ring_x_a2a_tp2_sp",
     dense,
     with(plan(1, 1, 2, true),
          [](Plan &p) {
            p.mesh = {{"cpr", 2}, {"cpa", 2}, {"tp", 2}};
            p.cp = {"cpr", "cpa"};
            p.cpType = "a2a";
            p.ring = {"cpr"};
          }),
     "fwd 2AG 4A2A 2RS | bwd 4AG 4A2A 2RS",
     {}},
    {"moe_dp2_alltoall",
     moe,
     with(plan(2, 1, 1), [](Plan &p) { p.ep = {"dp"}; }),
     "fwd 2A2A | bwd 2A2A",
     {{"egate.0", ""}, {"router.0", "dp"}}},
    {"moe_dp2_allgather",
     moe,
     with(plan(2, 1, 1), [](Plan &p) { p.ep = {"dp"}, p.dispatcher = "allgather"; }),
     "fwd 1AG 1A2A 1RS | bwd 1AG 1A2A 1RS",
     {}},
    {"moe_tp2_sp_alltoall",
     moe,
     with(plan(1, 1, 2, true), [](Plan &p) { p.ep = {"tp"}; }),
     "fwd 1AG 2A2A 1RS | bwd 2AG 2A2A 1RS",
     {{"router.0", "tp"}}},
    {"moe_shared_tp2_sp",
     shared,
     with(plan(1, 1, 2, true), [](Plan &p) { p.ep = {"tp"}; }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 2A2A 2RS",
     {}},
    {"moe_shared_dp2_tp2_sp_ep2",
     shared,
     with(plan(2, 1, 2, true), [](Plan &p) { p.ep = {"tp"}; }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 2A2A 2RS",
     {{"egate.0", "dp"}, {"router.0", "dp tp"}, {"sgate.0", "dp"}}},
    {"moe_shared_dp2_tp2_sp_ep4",
     shared,
     with(plan(2, 1, 2, true),
          [](Plan &p) {
            p.ep = {"dp", "tp"};
          }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 2A2A 2RS",
     {{"egate.0", ""}}},
    {"moe_shared_dp4_tp2_sp_ep4",
     shared,
     with(plan(1, 1, 2, true),
          [](Plan &p) {
            p.mesh = {{"dpo", 2}, {"dpi", 2}, {"tp", 2}};
            p.dp = {"dpo", "dpi"};
            p.ep = {"dpi", "tp"};
          }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 2A2A 2RS",
     {{"egate.0", "dpo"}, {"router.0", "dpi dpo tp"}}},
    {"moe_shared_cp2_tp2_sp_ring",
     shared,
     with(plan(1, 2, 2, true),
          [](Plan &p) {
            p.ep = {"cp", "tp"}, p.cpType = "ring";
          }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 2A2A 2RS",
     {}},
    {"moe_shared_tp2_allgather",
     shared,
     with(plan(1, 1, 2), [](Plan &p) { p.ep = {"tp"}, p.dispatcher = "allgather"; }),
     "fwd 2AR | bwd 1AG 2AR",
     {{"router.0", ""}}},
    {"moe_dp2_tp2_alltoall",
     moe,
     with(plan(2, 1, 2),
          [](Plan &p) {
            p.ep = {"dp", "tp"};
          }),
     "fwd 1AG 1AR 2A2A | bwd 2AG 1AR 2A2A",
     {}},
    // The balance loss finishes its counts only: one small all-reduce.
    {"moe_balance_loss",
     model([](Config &c) { c.experts = 4, c.sharedExpert = true, c.balanceLoss = true; }),
     with(plan(2, 2, 2, true),
          [](Plan &p) {
            p.ep = {"dp", "tp"}, p.zero = 1;
          }),
     "fwd 4AG 1AR 2A2A 2RS | bwd 6AG 2A2A 4RS",
     {{"egate.0", "cp"}}},
    {"recompute_tp2_sp",
     dense,
     with(plan(1, 1, 2, true), [](Plan &p) { p.recompute = true; }),
     "fwd 2AG 2RS | bwd 4AG 3RS",
     {}},
    {"recompute_tp2", dense, with(plan(1, 1, 2), [](Plan &p) { p.recompute = true; }), "fwd 2AR | bwd 3AR", {}},
    {"recompute_moe",
     shared,
     with(plan(2, 1, 2, true),
          [](Plan &p) {
            p.ep = {"dp", "tp"}, p.recompute = true;
          }),
     "fwd 2AG 2A2A 2RS | bwd 4AG 4A2A 3RS",
     {}},
};

class Counts : public testing::TestWithParam<Row> {};

TEST_P(Counts, OfEveryLayer) {
  const Compiled c(GetParam().config, GetParam().plan);
  EXPECT_EQ(c.counts("layer0"), GetParam().layer);
  EXPECT_EQ(c.counts("layer1"), GetParam().layer);
  for (const auto &[param, axes] : GetParam().partial)
    EXPECT_EQ(c.partial(param), axes) << "gradient of " << param;
}

// The backward inherits roles (P3). Chosen anew by P2 they are the same, so inheriting is no second rule. Only where a
// contribution, which has no home, has a factor that no operand has (expand), inheriting is all there is.
TEST_P(Counts, InheritedRolesAreTheChosenOnes) {
  const Compiled c(GetParam().config, GetParam().plan), anew(GetParam().config, GetParam().plan, {"P3"});
  const auto clean = [](Roles r) {
    std::erase_if(r, [](const auto &entry) { return entry.second.empty(); });
    return r;
  };
  for (size_t i = c.program.graph.forward.size(); i < c.lay.roles.size(); ++i)
    if (c.program.kind[i] != "expand") {
      EXPECT_EQ(clean(c.lay.roles[i]), clean(anew.lay.roles[i])) << c.program.graph.op(int(i)).name;
    }
}

INSTANTIATE_TEST_SUITE_P(Plans, Counts, testing::ValuesIn(rows), [](const auto &info) { return info.param.name; });

TEST(CountsOutside, EmbeddingAndHead) {
  const Compiled tp(dense, plan(1, 1, 2)), sp(dense, plan(1, 1, 2, true)),
      tied(model([](Config &c) { c.tied = true; }), plan(1, 1, 2, true));
  EXPECT_EQ(tp.counts("embed"), "fwd 1AR | bwd -");
  EXPECT_EQ(tp.counts("head"), "fwd 3AR | bwd 1AR");
  for (const Compiled *c : {&sp, &tied}) {
    EXPECT_EQ(c->counts("embed"), "fwd 1RS | bwd 1AG");
    EXPECT_EQ(c->counts("head"), "fwd 1AG 3AR | bwd 1AG 1RS");
    EXPECT_EQ(c->counts("grads"), "fwd - | bwd -");
  }
}

// The worked example of one decoder layer under TP+SP: which value moves, and when.
TEST(CountsTrace, OneLayerOfTpSp) {
  const Compiled c(dense, plan(2, 1, 2, true));
  EXPECT_EQ(c.trace("layer0", false), (std::vector<std::string>{"all_gather n1.0", "reduce_scatter p.0",
                                                                "all_gather n2.0", "reduce_scatter m.0"}));
  EXPECT_EQ(c.trace("layer1", true),
            (std::vector<std::string>{"all_gather d_x.1", "all_gather n2.1", "reduce_scatter ct_n2.1",
                                      "all_gather ct_r.1", "all_gather n1.1", "reduce_scatter ct_n1.1"}));
}

// Units of (n-1)/n of one activation: forward 4, backward 4 without SP and 6 with.
TEST(CountsSent, OneLayerOfTp) {
  const int64_t unit = 16 * 4 * 16 * 3 / 4;
  const Compiled tp(dense, plan(1, 1, 4)), sp(dense, plan(1, 1, 4, true));
  EXPECT_EQ(tp.sent("layer0", false), 4 * unit);
  EXPECT_EQ(tp.sent("layer0", true), 4 * unit);
  EXPECT_EQ(sp.sent("layer0", false), 4 * unit);
  EXPECT_EQ(sp.sent("layer0", true), 6 * unit);
}

// Gathered copies never cross to the backward; Ulysses crosses what attention needs, and its output twice (R3).
TEST(CountsSaved, Layouts) {
  const auto saved = [](const Compiled &c, const char *value) {
    std::string s;
    for (const Layout &l : c.saved.at(c.program.named.at(value)))
      s += (s.empty() ? "" : " and ") + l.str();
    return s;
  };
  const Compiled sp(dense, plan(1, 1, 2, true));
  EXPECT_EQ(saved(sp, "n1.0"), "[{tp}, {}, {}]");
  EXPECT_EQ(saved(sp, "qr.0"), "[{}, {}, {tp}, {}, {}]");
  const Compiled a2a(dense, with(plan(1, 2, 1), [](Plan &p) { p.cpType = "a2a"; }));
  EXPECT_EQ(saved(a2a, "qr.0"), "[{}, {}, {cp}, {}, {}]");
  EXPECT_EQ(saved(a2a, "o.0"), "[{cp}, {}, {}, {}, {}] and [{}, {}, {cp}, {}, {}]");
  EXPECT_EQ(saved(a2a, "lse.0"), "[{}, {}, {cp}, {}]"); // only the backward uses it: its needs place it (P1b)
}

} // namespace
