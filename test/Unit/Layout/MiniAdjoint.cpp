//===- MiniAdjoint.cpp - Differentiates the test model --------------------===//
//
// Adjoints with the letters of their primal op, one n-ary sum for each value with several uses (B2), and no op whose
// result nobody needs (B3).
//
//===----------------------------------------------------------------------===//
#include "MiniModel.h"
#include <algorithm>

namespace lf::mini {

std::vector<std::pair<int, int>> Program::adjoint(int index, int dy) {
  const GOp o = graph.forward[index];
  const std::string &k = kind[index];
  const std::vector<int> &x = o.operands;
  std::vector<std::string> in = o.rule.operands;
  const std::string out = o.rule.results[0];
  const auto d = [&](int v) { return "d_" + graph.values[v].name; };
  const auto emit = [&](const std::string &kind, const std::string &specs, std::vector<int> operands, int of, int wrt) {
    return op(kind, specs, std::move(operands), {d(wrt)}, of, ValueRole::raw)[0];
  };
  if (k == "matmul") {
    const int a = emit("matmul", out + "," + in[1] + "->" + in[0], {dy, x[1]}, index, x[0]);
    return {{x[0], a}, {x[1], emit("matmul", in[0] + "," + out + "->" + in[1], {x[0], dy}, index, x[1])}};
  }
  if (k == "sum") {
    std::vector<std::pair<int, int>> all;
    for (int v : x)
      all.emplace_back(v, dy);
    return all;
  }
  if (k == "mul") {
    const int a = emit("mul", out + "," + in[1] + "->" + in[0], {dy, x[1]}, index, x[0]);
    return {{x[0], a}, {x[1], emit("mul", out + "," + in[0] + "->" + in[1], {dy, x[0]}, index, x[1])}};
  }
  if (k == "rms_norm") {
    const auto r = op("rms_norm_grad", in[0] + "," + in[1] + "," + in[0] + "->" + in[0] + "," + in[1], {x[0], x[1], dy},
                      {d(x[0]), d(x[1])}, index, ValueRole::raw);
    return {{x[0], r[0]}, {x[1], r[1]}};
  }
  if (k == "attention") {
    const auto r = op("attention_grad", "sbgrd,tbgd,tbgd,s,t,sbgrd,sbgr,sbgrd->sbgrd,tbgd,tbgd",
                      {x[0], x[1], x[2], x[3], x[4], o.results[0], o.results[1], dy}, {d(x[0]), d(x[1]), d(x[2])},
                      index, ValueRole::raw);
    return {{x[0], r[0]}, {x[1], r[1]}, {x[2], r[2]}};
  }
  if (k == "silu" || k == "topk")
    return {{x[0], emit(k + "_grad", in[0] + "," + in[0] + "->" + in[0], {x[0], dy}, index, x[0])}};
  if (k == "rope" || k == "dropout")
    return {{x[0], emit(k == "rope" ? "rope_grad" : k, in[0] + "," + in[1] + "->" + in[0], {dy, x[1]}, index, x[0])}};
  if (k == "embedding")
    return {{x[1], emit("embedding_grad", "sb,sbh->vh", {x[0], dy}, index, x[1])}};
  if (k == "nll") { // cross entropy is one logical op; its adjoint is stated for the whole of it
    const int max = graph.values[x[1]].op;
    return {{logits, emit("ce_grad", "sbv,sb,sb,sb,sb->sbv", {logits, x[1], x[0], x[3], dy}, max, logits)}};
  }
  if (k == "sum_all")
    return {{x[0], emit("broadcast", "->" + in[0], {dy}, index, x[0])}};
  if (k == "reduce")
    return {{x[0], emit("expand", out + "->" + in[0], {dy}, index, x[0])}};
  if (k == "dispatch")
    return {{x[0], emit("dispatch_grad", out + "," + in[1] + "->" + in[0], {dy, x[1]}, index, x[0])}};
  return {}; // row_max, sum_exp, pick, count, chosen: covered by nll, or not differentiable
}

void Program::differentiate(bool keepDead) {
  inBackward = true;
  one = value("one", {}, ValueRole::input);
  std::map<int, std::vector<int>> pending{{loss, {one}}};
  std::map<int, int> done;
  const auto finish = [&](int v) {
    if (done.count(v) || !pending.count(v))
      return done.count(v) ? done[v] : -1;
    std::vector<int> cs = pending[v];
    if (cs.size() > 1) {
      const std::string letters = std::string("abcdefg").substr(0, graph.values[v].shape.size());
      std::string specs = letters;
      for (size_t i = 1; i < cs.size(); ++i)
        specs += "," + letters;
      cs = op("sum", specs + "->" + letters, cs, {"ct_" + graph.values[v].name}, -1, ValueRole::cotangent);
    }
    GValue &c = graph.values[cs[0]];
    if (c.primal < 0 && c.role != ValueRole::input) {
      c.primal = v;
      c.role = graph.values[v].role == ValueRole::param ? ValueRole::grad : ValueRole::cotangent;
    }
    return done[v] = cs[0];
  };
  for (int i = int(graph.forward.size()) - 1; i >= 0; --i) {
    now = tag[i];
    int dy = -1;
    for (size_t j = 0; j < graph.forward[i].results.size(); ++j)
      if (const int c = finish(graph.forward[i].results[j]); j == 0)
        dy = c;
    if (dy < 0)
      continue;
    for (const auto &[v, contribution] : adjoint(i, dy)) {
      if (graph.values[v].role == ValueRole::param)
        graph.values[contribution].target = v;
      if (graph.values[v].role != ValueRole::input)
        pending[v].push_back(contribution);
    }
  }
  now = "grads";
  std::set<int> live;
  for (int v : params) {
    gradient[v] = finish(v);
    graph.values[gradient[v]].output = true;
    live.insert(gradient[v]);
  }
  // B3: a cotangent that nobody needs must not force a collective.
  const std::vector<GOp> all = std::move(graph.backward);
  const size_t base = graph.forward.size();
  std::vector<bool> used(all.size(), keepDead);
  for (size_t i = all.size(); i-- > 0;) {
    for (int r : all[i].results)
      used[i] = used[i] || live.count(r);
    if (used[i])
      live.insert(all[i].operands.begin(), all[i].operands.end());
  }
  graph.backward.clear();
  std::vector<std::string> kinds(kind.begin(), kind.begin() + base), tags(tag.begin(), tag.begin() + base);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!used[i])
      continue;
    for (int r : all[i].results)
      graph.values[r].op = int(kinds.size());
    graph.backward.push_back(all[i]);
    kinds.push_back(kind[base + i]);
    tags.push_back(tag[base + i]);
  }
  kind = kinds;
  tag = tags;
}

} // namespace lf::mini
