//===- Propagate.cpp - The order of the rules -----------------------------===//
//
// Homes, then roles (which need homes), which the backward inherits, then relaxed homes (which need roles); last, what
// stays partial, which needs the uses of forward and backward.
//
//===----------------------------------------------------------------------===//
#include "Propagation.h"
#include <algorithm>

namespace lf {
namespace propagation {

Propagation::Propagation(const Mesh &mesh, const Graph &graph, const std::set<std::string> &off)
    : mesh(mesh), graph(graph), off(off), roles(numOps()), keep(graph.values.size()), part(graph.values.size()),
      uses(graph.values.size()) {
  for (const GValue &v : graph.values)
    dims.push_back(v.seed ? v.seed->dims : std::vector<Axes>(v.shape.size()));
  for (int o = 0; o < numOps(); ++o)
    for (size_t i = 0; i < graph.op(o).operands.size(); ++i)
      uses[graph.op(o).operands[i]].emplace_back(o, int(i));
}

bool Propagation::seeded(int v) const { return value(v).seed || value(v).role == ValueRole::param; }

int Propagation::owner(int v) const { return value(v).primal >= 0 ? value(v).primal : v; }

Propagated Propagation::result() const {
  Propagated out{roles, {}};
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const GValue &v = value(int(i));
    if (v.role == ValueRole::raw) {
      out.home.emplace_back();
      continue;
    }
    Layout l{home(int(i)), keep[i], Reduction::sum, {}};
    for (Axes &d : l.dims)
      std::erase_if(d, [&](const std::string &a) { return keep[i].count(a); });
    if (!l.partial.empty())
      l.kind = graph.op(v.op).rule.reduction;
    out.home.emplace_back(std::move(l));
  }
  return out;
}

} // namespace propagation

Propagated propagate(const Mesh &mesh, const Graph &graph, const std::set<std::string> &off) {
  propagation::checkGraph(mesh, graph);
  propagation::Propagation p(mesh, graph, off);
  p.completeHomes();
  p.chooseRoles();
  p.adoptRoles();
  if (!off.count("P1b"))
    p.relaxHomes();
  if (off.count("P3"))
    p.adoptRoles(); // chosen anew from the homes that hold now
  p.settle();
  return p.result();
}

} // namespace lf
