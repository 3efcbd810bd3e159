//===- Homes.cpp - Rules P1 and P1b: where forward values live ------------===//
//
//   P1   unseeded values start whole and only gain axes, in sweeps down and up, until nothing changes
//   P1b  with the roles known, an unseeded value moves where its producer leaves it, or where a user needs it, if that
//        is strictly cheaper in all and not larger
//
//===----------------------------------------------------------------------===//
#include "Propagation.h"
#include <algorithm>

namespace lf::propagation {

std::vector<Claim> AxisClaims::strongest() const {
  int best = claims.front().strength;
  for (const Claim &c : claims)
    best = std::min(best, c.strength);
  std::vector<Claim> out;
  std::copy_if(claims.begin(), claims.end(), std::back_inserter(out),
               [&](const Claim &c) { return c.strength == best; });
  return out;
}

std::vector<AxisClaims> Propagation::claims(const GOp &op, bool withResults) const {
  std::vector<AxisClaims> out;
  const auto add = [&](const std::string &axis, Claim claim) {
    auto it = std::find_if(out.begin(), out.end(), [&](const AxisClaims &c) { return c.axis == axis; });
    if (it == out.end())
      it = out.insert(out.end(), AxisClaims{axis, {}});
    for (Claim &c : it->claims)
      if (c.strength == claim.strength && c.factor == claim.factor) {
        c = claim; // the last of equals: the order of axes is the longest list's, wherever it stands
        return;
      }
    it->claims.push_back(claim);
  };
  const size_t n = op.operands.size(), all = withResults ? n + op.results.size() : n;
  for (size_t i = 0; i < all; ++i) {
    const int v = i < n ? op.operands[i] : op.results[i - n];
    const GValue &val = value(v);
    const int source = val.target >= 0 ? val.target : v;
    const bool parameter = val.role == ValueRole::param || val.role == ValueRole::grad || val.target >= 0;
    const int strength = parameter ? 0 : i >= n ? 3 : seeded(v) ? 1 : 2;
    const std::vector<Axes> &at = home(source);
    const std::string &letters = spec(op, i);
    for (size_t d = 0; d < letters.size(); ++d)
      for (size_t p = 0; p < at[d].size(); ++p)
        if (!blocked(op.rule, letters[d]))
          add(at[d][p], {strength, letters[d], int(i), int(p), v});
    if (!off.count("closed"))
      for (const std::string &a : value(source).closed)
        add(a, {strength, 0, int(i), 0, v});
  }
  // Axes of equal claimants keep the order in which the op met them.
  using Order = decltype(Claim().order());
  std::vector<std::pair<Order, size_t>> order;
  for (size_t i = 0; i < out.size(); ++i) {
    Order best = out[i].claims.front().order();
    for (const Claim &c : out[i].claims)
      best = std::min(best, c.order());
    order.emplace_back(best, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<AxisClaims> sorted;
  for (const auto &entry : order)
    sorted.push_back(std::move(out[entry.second]));
  return sorted;
}

void Propagation::completeHomes() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto op = graph.forward.begin(); op != graph.forward.end(); ++op)
      changed |= spread(*op, false);
    for (auto op = graph.forward.rbegin(); op != graph.forward.rend(); ++op)
      changed |= spread(*op, true);
  }
}

/// Down: results take the axes that the operands' claims give to their factors. Up: operands take an axis that a result
/// has along a shared factor, unless their own producer must compute that dim whole.
bool Propagation::spread(const GOp &op, bool up) {
  std::vector<std::pair<std::string, char>> decided; // an undecided axis is left alone here; P2 decides or refuses
  for (const AxisClaims &a : claims(op, up))
    if (const auto best = a.strongest(); best.size() == 1)
      decided.emplace_back(a.axis, best.front().factor);
  const auto splits = [](const Axes &d, const std::string &axis) {
    return std::find(d.begin(), d.end(), axis) != d.end();
  };
  const auto onResult = [&](char factor, const std::string &axis) {
    for (size_t j = 0; j < op.results.size(); ++j)
      for (size_t d = 0; d < op.rule.results[j].size(); ++d)
        if (op.rule.results[j][d] == factor && splits(home(op.results[j])[d], axis))
          return true;
    return false;
  };
  bool changed = false;
  for (size_t i = 0, n = up ? op.operands.size() : op.results.size(); i < n; ++i) {
    const int v = up ? op.operands[i] : op.results[i];
    const GValue &val = value(v);
    if (seeded(v) || val.role == ValueRole::param || val.role == ValueRole::input || val.op < 0)
      continue;
    const GOp &producer = graph.op(val.op);
    const std::string &letters = up ? op.rule.operands[i] : op.rule.results[i],
                      &made = producer.rule.results[val.result];
    std::vector<Axes> &at = dims[owner(v)];
    for (size_t d = 0; d < letters.size(); ++d)
      for (const auto &[axis, factor] : decided) {
        if (factor != letters[d] || std::any_of(at.begin(), at.end(), [&](const Axes &x) { return splits(x, axis); }))
          continue;
        if (up && (!onResult(factor, axis) || blocked(producer.rule, made[d])))
          continue;
        at[d].push_back(axis);
        changed = true;
      }
  }
  return changed;
}

/// What the forward users of v require; what the backward requires where there are none (the lse of attention).
std::vector<Layout> Propagation::needsOf(int v) const {
  std::set<Layout> forward, backward;
  for (const auto &[user, i] : uses[v])
    (user < int(graph.forward.size()) ? forward : backward).insert(required(graph.op(user), i, roles[user]));
  const std::set<Layout> &needs = forward.empty() ? backward : forward;
  return {needs.begin(), needs.end()};
}

void Propagation::relaxHomes() {
  for (size_t o = 0; o < graph.forward.size(); ++o)
    for (size_t j = 0; j < graph.forward[o].results.size(); ++j) {
      const int v = graph.forward[o].results[j];
      const Layout left = natural(graph.forward[o], int(j), roles[o]);
      const std::vector<Layout> needs = needsOf(v);
      if (seeded(v) || !left.partial.empty() || needs.empty())
        continue;
      const Shape &shape = value(v).shape;
      const auto total = [&](const Layout &h) {
        int64_t sum = volume(mesh, conversion(left, h), shape, left);
        for (const Layout &n : needs)
          sum += volume(mesh, conversion(h, n), shape, h);
        return sum;
      };
      const Layout now{home(v), {}, Reduction::sum, {}};
      const int64_t room = mesh.localElements(shape, now);
      Layout best = now;
      int64_t least = total(now);
      std::vector<Layout> others = needs;
      others.insert(others.begin(), left);
      for (const Layout &h : others)
        if (mesh.localElements(shape, h) <= room)
          if (const int64_t t = total(h); t < least) {
            best = h;
            least = t;
          }
      dims[owner(v)] = best.dims;
    }
}

} // namespace lf::propagation
