//===- Roles.cpp - Rules P2 and P3: which axis does what in an op ---------===//
//
//   P2  pin > parameter > seeded operand > operand > result; within one class the fewest bytes; a tie, or two
//       parameters, is an error that names both sources
//   P3  roles(adjoint) = roles(op): no search, so the backward needs no annotation
//
//===----------------------------------------------------------------------===//
#include "Propagation.h"
#include "Text.h"
#include <algorithm>

namespace lf::propagation {

void Propagation::chooseRoles() {
  for (size_t i = 0; i < graph.forward.size(); ++i)
    roles[i] = resolve(int(i));
}

void Propagation::adoptRoles() {
  for (int i = int(graph.forward.size()); i < numOps(); ++i) {
    const GOp &op = graph.op(i);
    if (op.rule.isSum)
      continue; // R2 adds in whatever layout the operands have
    if (op.of < 0 || off.count("P3")) {
      roles[i] = resolve(i);
      continue;
    }
    roles[i].clear();
    for (const auto &[factor, axes] : roles[op.of])
      for (size_t k = 0; k < op.operands.size() + op.results.size(); ++k)
        if (spec(op, k).find(factor) != std::string::npos) {
          roles[i][factor] = axes;
          break;
        }
  }
}

Roles Propagation::resolve(int index) const {
  const GOp &op = graph.op(index);
  const std::optional<Roles> &pin = op.of >= 0 ? graph.forward[op.of].pin : op.pin;
  Roles out = pin.value_or(Roles());
  std::set<std::string> taken;
  for (const auto &entry : out)
    taken.insert(entry.second.begin(), entry.second.end());
  std::vector<AxisClaims> open;
  for (AxisClaims &a : claims(op, true)) {
    if (taken.count(a.axis))
      continue;
    if (pin)
      a.claims.erase(
          std::remove_if(a.claims.begin(), a.claims.end(), [&](const Claim &c) { return pin->count(c.factor); }),
          a.claims.end());
    if (a.claims.empty())
      continue;
    const std::vector<Claim> best = a.strongest();
    if (best.size() > 1)
      open.push_back({a.axis, best});
    else if (best.front().factor)
      out[best.front().factor].push_back(a.axis);
  }
  for (const AxisClaims &a : open) {
    std::vector<int64_t> costs;
    for (const Claim &c : a.claims) {
      Roles with = out;
      if (c.factor)
        with[c.factor].push_back(a.axis);
      costs.push_back(cost(op, with));
    }
    const int64_t least = *std::min_element(costs.begin(), costs.end());
    if (a.claims.front().strength == 0 || std::count(costs.begin(), costs.end(), least) > 1) {
      const auto side = [&](const Claim &c) {
        return (c.factor ? std::string("factor \"") + c.factor + "\"" : std::string("no role (closed)")) + " from \"" +
               value(c.source).name + "\"";
      };
      throw LayoutError("expected one role for axis \"" + a.axis + "\" in " + op.name + ", got " + side(a.claims[0]) +
                            " and " + side(a.claims[1]) + "; annotate one of them",
                        index, {a.claims[0].source, a.claims[1].source});
    }
    const Claim &c = a.claims[std::find(costs.begin(), costs.end(), least) - costs.begin()];
    if (c.factor)
      out[c.factor].push_back(a.axis);
  }
  const auto size = [&](char factor) -> int64_t {
    for (size_t i = 0, n = op.operands.size(); i < n + op.results.size(); ++i)
      if (const size_t d = spec(op, i).find(factor); d != std::string::npos)
        return value(i < n ? op.operands[i] : op.results[i - n]).shape[d];
    const auto known = op.sizes.find(factor);
    return known == op.sizes.end() ? 0 : known->second;
  };
  for (const auto &[factor, axes] : out)
    if (size(factor) % mesh.size(axes))
      throw LayoutError(std::string("expected factor \"") + factor + "\" of " + op.name + " to be a multiple of " +
                            text::product(mesh, axes) + ", got " + std::to_string(size(factor)) +
                            "; split it over fewer ranks",
                        index);
  return out;
}

int64_t Propagation::cost(const GOp &op, const Roles &with) const {
  int64_t total = 0;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const int v = op.operands[i];
    const Layout src{home(v), {}, Reduction::sum, {}};
    total += volume(mesh, conversion(src, required(op, int(i), with)), value(v).shape, src);
  }
  for (size_t j = 0; j < op.results.size(); ++j) {
    const int v = op.results[j];
    const Layout src = natural(op, int(j), with);
    total += volume(mesh, conversion(src, {home(v), {}, Reduction::sum, {}}), value(v).shape, src);
  }
  return total;
}

} // namespace lf::propagation
