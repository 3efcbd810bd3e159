//===- Propagation.h - What the rules P1 to P4 work on --------------------===//
//
// One object for one call of propagate(). Each rule is a member function in a file of its own; the order in which they
// run is in Propagate.cpp.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Propagate.h"
#include <tuple>

namespace lf::propagation {

/// A factor is blocked unless the op exchanges blocks along it by itself (ring).
bool blocked(const Rule &, char factor);
/// The letters of operand or result i, counting operands first.
const std::string &spec(const GOp &, size_t i);
/// Throws LayoutError unless each rule fits its op: operands, ranks, factor sizes, pins.
void checkGraph(const Mesh &, const Graph &);

/// One reason for an axis to play a role in an op. Smaller is stronger: by strength, then by place in the op, then by
/// place in the list of axes.
struct Claim {
  int strength; ///< 0 parameter (or gradient), 1 seeded operand, 2 operand, 3 result
  char factor;  ///< 0: no role (closed)
  int place, position;
  int source; ///< value
  auto order() const { return std::make_tuple(strength, place, position); }
};
struct AxisClaims {
  std::string axis;
  std::vector<Claim> claims; ///< one for each strength and factor
  /// The claims of the greatest strength.
  std::vector<Claim> strongest() const;
};

class Propagation {
public:
  Propagation(const Mesh &, const Graph &, const std::set<std::string> &off);

  void completeHomes(); ///< P1
  void relaxHomes();    ///< P1b; needs roles, also of the backward
  void chooseRoles();   ///< P2
  void adoptRoles();    ///< P3
  void settle();        ///< P4; fills `keep`
  Propagated result() const;

private:
  const Mesh &mesh;
  const Graph &graph;
  const std::set<std::string> &off;
  std::vector<std::vector<Axes>> dims; ///< home of each forward value
  std::vector<Roles> roles;
  std::vector<std::set<std::string>> keep, part;      ///< of each value: axes over which it stays, or still is, partial
  std::vector<std::vector<std::pair<int, int>>> uses; ///< of each value: op and number of the operand

  int numOps() const { return int(graph.forward.size() + graph.backward.size()); }
  const GValue &value(int v) const { return graph.values[v]; }
  bool seeded(int v) const;
  /// The value whose home v shares (P3).
  int owner(int v) const;
  const std::vector<Axes> &home(int v) const { return dims[owner(v)]; }

  /// Claims on the axes of an op, in the order in which the strongest claimants list the axes.
  std::vector<AxisClaims> claims(const GOp &, bool withResults) const;
  bool spread(const GOp &, bool up);
  std::vector<Layout> needsOf(int v) const;
  Roles resolve(int op) const;
  int64_t cost(const GOp &, const Roles &) const;

  bool ends(int v) const;
  std::set<std::string> naturalPartial(int op, int result) const;
  bool accepts(int op, int operand, const std::string &axis) const;
};

} // namespace lf::propagation
