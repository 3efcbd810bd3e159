//===- MiniModel.cpp - Ops of the test model, and what strategies say -----===//
//
// The table of factor rules, the model, and seeds and pins of every strategy. No collective is named here.
//
//===----------------------------------------------------------------------===//
#include "MiniModel.h"
#include <algorithm>

namespace lf::mini {
namespace {

const std::map<std::string, std::string> blockedFactors = {{"rope", "d"},       {"rope_grad", "d"},
                                                           {"attention", "td"}, {"attention_grad", "td"},
                                                           {"topk", "e"},       {"topk_grad", "e"}};
const std::map<std::string, std::set<int>> linearOperands = {
    {"matmul", {0, 1}},      {"rope", {0}},          {"rope_grad", {0}}, {"dropout", {0}},   {"rms_norm_grad", {2}},
    {"attention_grad", {7}}, {"silu_grad", {1}},     {"mul", {0, 1}},    {"embedding", {1}}, {"embedding_grad", {1}},
    {"dispatch", {0}},       {"dispatch_grad", {0}}, {"ce_grad", {4}},   {"sum_all", {0}},   {"reduce", {0}},
    {"expand", {0}},         {"broadcast", {0}},     {"topk_grad", {1}}};

std::vector<std::string> split(const std::string &s) {
  std::vector<std::string> out;
  size_t from = 0;
  for (size_t at; (at = s.find(',', from)) != std::string::npos; from = at + 1)
    out.push_back(s.substr(from, at - from));
  out.push_back(s.substr(from));
  return out;
}

Axes operator+(const Axes &a, const Axes &b) {
  Axes out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Axes without(const Axes &a, const Axes &b) {
  Axes out;
  std::copy_if(a.begin(), a.end(), std::back_inserter(out),
               [&](const std::string &x) { return std::find(b.begin(), b.end(), x) == b.end(); });
  return out;
}

} // namespace

int Program::value(const std::string &name, Shape shape, ValueRole role) {
  GValue v;
  v.name = name;
  v.shape = std::move(shape);
  v.role = role;
  graph.values.push_back(v);
  const int id = int(graph.values.size()) - 1;
  named.emplace(name, id);
  return id;
}

int Program::param(const std::string &name, Shape shape) {
  params.push_back(value(name, std::move(shape), ValueRole::param));
  return params.back();
}

std::vector<int> Program::op(const std::string &k, const std::string &specs, std::vector<int> operands,
                             std::vector<std::string> names, int of, ValueRole role) {
  const size_t arrow = specs.find("->");
  GOp o;
  o.rule.operands = split(specs.substr(0, arrow));
  o.rule.results = split(specs.substr(arrow + 2));
  o.rule.isSum = k == "sum";
  o.rule.reduction = k == "row_max" ? Reduction::max : Reduction::sum;
  if (const auto it = blockedFactors.find(k); it != blockedFactors.end())
    o.rule.blocked = it->second;
  if (k.rfind("rms_norm", 0) == 0)
    o.rule.blocked = o.rule.operands[0].back();
  if (const auto it = linearOperands.find(k); it != linearOperands.end())
    o.rule.linear = it->second;
  if (of >= 0) {
    o.sizes = graph.forward[of].sizes;
    o.rule.ring = k == "attention_grad" ? graph.forward[of].rule.ring : "";
  }
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t d = 0; d < o.rule.operands[i].size(); ++d)
      o.sizes[o.rule.operands[i][d]] = graph.values[operands[i]].shape[d];
  o.of = of;
  o.operands = std::move(operands);
  o.name = k + " \"" + names[0] + "\" (" + now + ")";
  for (size_t j = 0; j < names.size(); ++j) {
    Shape shape;
    for (char f : o.rule.results[j])
      shape.push_back(o.sizes.at(f));
    const int v = value(names[j], shape, role);
    graph.values[v].op = int(kind.size());
    graph.values[v].result = int(j);
    o.results.push_back(v);
  }
  kind.push_back(k);
  tag.push_back(now);
  (inBackward ? graph.backward : graph.forward).push_back(o);
  return o.results;
}

Program::Program(const Config &c, const Plan &plan) {
  build(c);
  annotate(c, plan);
}

void Program::build(const Config &c) {
  const int64_t S = c.seq, B = c.batch, H = c.hidden, G = c.groups, R = c.rep, D = c.head, F = c.ffn, V = c.vocab,
                E = c.experts;
  const int ids = value("ids", {S, B}, ValueRole::input), labels = value("labels", {S, B}, ValueRole::input),
            pos = value("pos", {S}, ValueRole::input);
  const auto one = [&](const char *k, const char *specs, std::vector<int> in, const std::string &n) {
    return op(k, specs, std::move(in), {n})[0];
  };
  now = "embed";
  const int table = param("embedding", {V, H});
  int x = one("embedding", "sb,vh->sbh", {ids, table}, "x0");
  streams = {x};
  std::vector<int> losses;
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string i = "." + std::to_string(layer);
    now = "layer" + std::to_string(layer);
    const auto drop = [&](int v, const char *n) {
      return c.dropout ? one("dropout", "sbh,s->sbh", {v, pos}, n + i) : v;
    };
    int n = one("rms_norm", "sbh,h->sbh", {x, param("norm1" + i, {H})}, "n1" + i);
    int q = one("matmul", "sbh,hgrd->sbgrd", {n, param("wq" + i, {H, G, R, D})}, "q" + i);
    int k = one("matmul", "sbh,hgd->sbgd", {n, param("wk" + i, {H, G, D})}, "k" + i);
    const int v = one("matmul", "sbh,hgd->sbgd", {n, param("wv" + i, {H, G, D})}, "v" + i);
    if (c.qkNorm) {
      q = one("rms_norm", "sbgrd,d->sbgrd", {q, param("qnorm" + i, {D})}, "qn" + i);
      k = one("rms_norm", "sbgd,d->sbgd", {k, param("knorm" + i, {D})}, "kn" + i);
    }
    q = one("rope", "sbgrd,s->sbgrd", {q, pos}, "qr" + i);
    k = one("rope", "sbgd,s->sbgd", {k, pos}, "kr" + i);
    const int o = op("attention", "sbgrd,tbgd,tbgd,s,t->sbgrd,sbgr", {q, k, v, pos, pos}, {"o" + i, "lse" + i})[0];
    const int p = one("matmul", "sbgrd,grdh->sbh", {o, param("wo" + i, {G, R, D, H})}, "p" + i);
    if (!c.parallelBlock) {
      x = one("sum", "sbh,sbh->sbh", {x, drop(p, "drop0")}, "r" + i);
      n = one("rms_norm", "sbh,h->sbh", {x, param("norm2" + i, {H})}, "n2" + i);
    }
    const auto mlp = [&](const std::string &pre) {
      const int g = one("matmul", "sbh,hf->sbf", {n, param(pre + "gate" + i, {H, F})}, pre + "g" + i);
      const int u = one("matmul", "sbh,hf->sbf", {n, param(pre + "up" + i, {H, F})}, pre + "u" + i);
      const int s = one("silu", "sbf->sbf", {g}, pre + "s" + i);
      const int a = one("mul", "sbf,sbf->sbf", {s, u}, pre + "a" + i);
      return one("matmul", "sbf,fh->sbh", {a, param(pre + "down" + i, {F, H})}, pre + "m" + i);
    };
    int m;
    if (E) {
      const int lg = one("matmul", "sbh,he->sbe", {n, param("router" + i, {H, E})}, "lg" + i);
      const int pr = one("topk", "sbe->sbe", {lg}, "pr" + i);
      if (c.balanceLoss) {
        const int chosen = one("reduce", "sbe->be", {one("chosen", "sbe->sbe", {pr}, "ch" + i)}, "frac" + i);
        const int prob = one("reduce", "sbe->be", {pr}, "prob" + i);
        losses.push_back(one("sum_all", "be->", {one("mul", "be,be->be", {prob, chosen}, "aux" + i)}, "auxl" + i));
      }
      const int rows = one("dispatch", "sbh,sbe->esbh", {n, pr}, "rows" + i);
      const int g = one("matmul", "esbh,ehf->esbf", {rows, param("egate" + i, {E, H, F})}, "eg" + i);
      const int u = one("matmul", "esbh,ehf->esbf", {rows, param("eup" + i, {E, H, F})}, "eu" + i);
      const int s = one("silu", "esbf->esbf", {g}, "es" + i);
      const int a = one("mul", "esbf,esbf->esbf", {s, u}, "ea" + i);
      const int y = one("matmul", "esbf,efh->esbh", {a, param("edown" + i, {E, F, H})}, "em" + i);
      m = one("matmul", "esbh,sbe->sbh", {y, pr}, "combine" + i);
      if (c.sharedExpert)
        m = one("sum", "sbh,sbh->sbh", {m, mlp("s")}, "ms" + i);
    } else {
      m = mlp("");
    }
    if (c.parallelBlock)
      m = one("sum", "sbh,sbh->sbh", {p, m}, "pm" + i);
    x = one("sum", "sbh,sbh->sbh", {x, drop(m, "drop1")}, "x" + i);
    streams.push_back(x);
  }
  now = "head";
  const int n = one("rms_norm", "sbh,h->sbh", {x, param("final", {H})}, "nf");
  logits = c.tied ? one("matmul", "sbh,vh->sbv", {n, table}, "logits")
                  : one("matmul", "sbh,hv->sbv", {n, param("head", {H, V})}, "logits");
  const int max = one("row_max", "sbv->sb", {logits}, "max");
  const int z = one("sum_exp", "sbv,sb->sb", {logits, max}, "z");
  const int t = one("pick", "sbv,sb->sb", {logits, labels}, "t");
  loss = one("sum_all", "sb->", {one("nll", "sb,sb,sb,sb->sb", {z, max, t, labels}, "nll")}, "nll_sum");
  if (!losses.empty()) {
    losses.insert(losses.begin(), loss);
    loss = one("sum", (std::string(losses.size() - 1, ',') + "->").c_str(), losses, "loss_sum");
  }
  graph.values[loss].output = true;
  graph.values[one("count", "sb->", {labels}, "count")].output = true;
}

void Program::annotate(const Config &, const Plan &plan) {
  const Axes kv = plan.kv.value_or(plan.tp), q = without(plan.tp, kv);
  const std::map<std::string, std::vector<Axes>> splits = {
      {"embedding", {plan.tp, {}}}, {"head", {{}, plan.tp}},    {"wq", {{}, kv, q, {}}},     {"wk", {{}, kv, {}}},
      {"wv", {{}, kv, {}}},         {"wo", {kv, q, {}, {}}},    {"gate", {{}, plan.tp}},     {"up", {{}, plan.tp}},
      {"down", {plan.tp, {}}},      {"sgate", {{}, plan.tp}},   {"sup", {{}, plan.tp}},      {"sdown", {plan.tp, {}}},
      {"egate", {plan.ep, {}, {}}}, {"eup", {plan.ep, {}, {}}}, {"edown", {plan.ep, {}, {}}}};
  const auto seed = [&](int v, std::vector<Axes> dims) { graph.values[v].seed = Layout{std::move(dims), {}, {}, {}}; };
  for (int v : params) {
    const std::string stem = graph.values[v].name.substr(0, graph.values[v].name.find('.'));
    if (const auto it = splits.find(stem); it != splits.end())
      seed(v, it->second);
    if (stem == "wk" || stem == "wv")
      graph.values[v].closed = q;
  }
  seed(named["ids"], {plan.cp, plan.dp});
  seed(named["labels"], {plan.cp, plan.dp});
  seed(named["pos"], {{}});
  for (int v : streams)
    seed(v, {plan.sp ? plan.cp + plan.tp : plan.cp, plan.dp, {}});
  bool overlap = false; // ep shares axes with tp: then tokens are split over tp also without SP
  for (const std::string &a : plan.tp)
    overlap |= std::find(plan.ep.begin(), plan.ep.end(), a) != plan.ep.end();
  const Roles tokens = {{'s', plan.sp || overlap ? plan.cp + plan.tp : plan.cp}, {'b', plan.dp}};
  for (size_t i = 0; i < graph.forward.size(); ++i) {
    GOp &o = graph.forward[i];
    if (kind[i] == "attention" && !plan.cp.empty() && plan.cpType != "allgather") {
      const Axes ring = plan.cpType == "ring" ? plan.cp : plan.ring;
      o.rule.ring = ring.empty() ? "" : "st";
      o.pin = Roles{{'s', ring}};
      if (!ring.empty())
        (*o.pin)['t'] = ring;
      if (plan.cpType == "a2a")
        (*o.pin)['g'] = kv + without(plan.cp, ring);
    }
    if (kind[i] == "dispatch" || graph.values[o.results[0]].name.rfind("combine", 0) == 0) {
      o.pin = tokens;
      const bool gather = plan.dispatcher == "allgather";
      for (auto &entry : *o.pin)
        entry.second = gather ? without(entry.second, plan.ep) : entry.second;
      (*o.pin)['e'] = gather ? plan.ep : Axes();
    }
  }
}

} // namespace lf::mini
