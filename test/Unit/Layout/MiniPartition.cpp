//===- MiniPartition.cpp - Rules R1 to R4 on the light graph --------------===//
//
//   R1  one conversion for each value and layout in a function, from the cheapest copy
//   R2  a sum adds operands of equal layout first, and converts each group once
//   R3  a saved value crosses at home, or in the layouts that the forward made anyway and the backward needs
//   R4  parameters enter a function as they are stored (flat under ZeRO-3)
//
//===----------------------------------------------------------------------===//
#include "MiniPartition.h"
#include <algorithm>

namespace lf::mini {

Compiled::Compiled(const Config &c, const Plan &plan, std::set<std::string> off,
                   const std::map<std::string, Layout> &seeds)
    : mesh(plan.mesh), program(c, plan), plan(plan), off(std::move(off)) {
  for (const auto &[name, layout] : seeds)
    program.graph.values[program.named.at(name)].seed = layout;
  program.differentiate(this->off.count("B3"));
  lay = propagate(mesh, program.graph, this->off);
  partition();
}

Layout Compiled::storage(int v) const {
  Layout l = *lay.home[v];
  if (plan.zero < 3)
    return l;
  const Axes used = l.axes();
  for (const Axes &list : {plan.dp, plan.cp})
    for (const std::string &a : list)
      if (std::find(used.begin(), used.end(), a) == used.end())
        l.flat.push_back(a);
  return l;
}

void Compiled::bind(int v, const Layout &l) {
  (*env)[v].here = l;
  (*env)[v].all.insert(l);
}

void Compiled::convert(int v, const Layout &src, const Layout &dst) {
  const GValue &value = program.graph.values[v];
  Layout at = src;
  for (const Step &s : conversion(src, dst)) {
    moved.push_back({env == &backward, now, value.name, s, volume(mesh, {s}, value.shape, at)});
    at = after(at, s);
  }
  if (at != dst)
    throw LayoutError("conversion ended at " + at.str() + " instead of " + dst.str());
}

void Compiled::use(int v, const Layout &dst) {
  Copies &c = env->at(v);
  if (c.all.count(dst) && !(off.count("R1") && dst != c.here))
    return;
  const auto price = [&](const Layout &l) {
    return volume(mesh, conversion(l, dst), program.graph.values[v].shape, l);
  };
  Layout best = c.here;
  if (!off.count("R1"))
    for (const Layout &l : c.all)
      if (price(l) < price(best))
        best = l;
  convert(v, best, dst);
  c.all.insert(dst);
}

void Compiled::produce(int v, const Layout &made) {
  const Layout home = lay.home[v].value_or(made);
  if (home != made && made.partial.empty())
    (*env)[v].all.insert(made);
  convert(v, made, home);
  bind(v, home);
}

void Compiled::run(int index) {
  const GOp &op = program.graph.op(index);
  now = program.tag[index];
  if (op.rule.isSum) {
    const int r = op.results[0];
    std::vector<Layout> groups;
    for (int v : op.operands)
      if (const Layout &l = env->at(v).here;
          off.count("R2") || std::find(groups.begin(), groups.end(), l) == groups.end())
        groups.push_back(l);
    for (const Layout &l : groups)
      convert(r, l, *lay.home[r]);
    bind(r, *lay.home[r]);
    return;
  }
  std::set<std::string> passed;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const int v = op.operands[i];
    const std::set<std::string> &p = env->at(v).here.partial;
    passed.insert(p.begin(), p.end());
    use(v, required(op, int(i), lay.roles[index], p));
  }
  for (size_t j = 0; j < op.results.size(); ++j)
    produce(op.results[j], natural(op, int(j), lay.roles[index], passed));
}

void Compiled::start() {
  const auto &values = program.graph.values;
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v].role == ValueRole::param || values[v].role == ValueRole::input)
      bind(int(v), values[v].role == ValueRole::param ? storage(int(v)) : *lay.home[v]);
}

void Compiled::partition() {
  const Graph &g = program.graph;
  const int base = int(g.forward.size()), all = base + int(g.backward.size());
  env = &forward;
  start();
  for (int i = 0; i < base; ++i)
    run(i);
  env = &backward;
  start();
  // Recompute: what the backward of a layer needs of its forward runs again there, from the seeded stream.
  std::map<std::string, std::vector<int>> again;
  std::set<int> made;
  for (int layer = 0;
       plan.recompute && std::count(program.tag.begin(), program.tag.end(), "layer" + std::to_string(layer)); ++layer) {
    const std::string tag = "layer" + std::to_string(layer);
    std::set<int> live;
    for (int i = base; i < all; ++i)
      if (program.tag[i] == tag)
        live.insert(g.op(i).operands.begin(), g.op(i).operands.end());
    for (int i = base - 1; i >= 0; --i) {
      const auto &rs = g.op(i).results;
      if (program.tag[i] != tag || std::none_of(rs.begin(), rs.end(), [&](int r) { return live.count(r); }) ||
          std::any_of(rs.begin(), rs.end(), [&](int r) { return g.values[r].seed.has_value(); }))
        continue;
      live.insert(g.op(i).operands.begin(), g.op(i).operands.end());
      again[tag].insert(again[tag].begin(), i);
      made.insert(rs.begin(), rs.end());
    }
  }
  std::vector<int> order;
  for (int i = base; i < all; ++i) {
    order.insert(order.end(), again[program.tag[i]].begin(), again[program.tag[i]].end());
    again[program.tag[i]].clear();
    order.push_back(i);
  }
  std::map<int, std::set<Layout>> needs;
  for (int i : order)
    for (size_t k = 0; k < g.op(i).operands.size(); ++k)
      if (const int v = g.op(i).operands[k]; forward.count(v) && g.values[v].role == ValueRole::act && !made.count(v))
        needs[v].insert(g.op(i).rule.isSum ? forward[v].here : required(g.op(i), int(k), lay.roles[i]));
  for (const auto &[v, layouts] : needs) {
    const Copies &c = forward[v];
    const int64_t room = mesh.localElements(g.values[v].shape, c.here);
    bool there = !off.count("R3");
    for (const Layout &l : layouts)
      there = there && c.all.count(l) && mesh.localElements(g.values[v].shape, l) <= room;
    if (!there || layouts.count(c.here))
      saved[v].push_back(c.here);
    for (const Layout &l : layouts)
      if (there && l != c.here)
        saved[v].push_back(l);
    backward[v] = {saved[v].front(), {saved[v].begin(), saved[v].end()}};
  }
  for (int i : order)
    run(i);
}

std::string Compiled::counts(const std::string &tag) const {
  const std::map<StepKind, const char *> names = {{StepKind::allGather, "AG"},
                                                  {StepKind::allReduce, "AR"},
                                                  {StepKind::allToAll, "A2A"},
                                                  {StepKind::reduceScatter, "RS"}};
  const auto side = [&](bool back) {
    std::map<std::string, int> n;
    for (const Moved &m : moved)
      if (m.tag == tag && m.backward == back && names.count(m.step.kind))
        ++n[names.at(m.step.kind)];
    std::string s;
    for (const char *k : {"AG", "AR", "A2A", "RS"})
      if (n[k])
        s += " " + std::to_string(n[k]) + k;
    return s.empty() ? " -" : s;
  };
  return "fwd" + side(false) + " | bwd" + side(true);
}

std::string Compiled::partial(const std::string &param) const {
  std::string s;
  for (const std::string &a : backward.at(program.gradient.at(program.named.at(param))).here.partial)
    s += (s.empty() ? "" : " ") + a;
  return s;
}

int64_t Compiled::sent(const std::string &tag, bool back) const {
  int64_t n = 0;
  for (const Moved &m : moved)
    n += m.tag == tag && m.backward == back ? m.sent : 0;
  return n;
}

std::vector<std::string> Compiled::trace(const std::string &tag, bool back) const {
  std::vector<std::string> out;
  for (const Moved &m : moved)
    if (m.tag == tag && m.backward == back && m.step.kind != StepKind::slice && m.step.kind != StepKind::mask)
      out.push_back(name(m.step.kind) + (" " + m.value));
  return out;
}

} // namespace lf::mini
