//===- Propagate.h - Completes layouts from seeds and pins -----------------===//
//
// Rules P1 (homes), P1b (relax), P2 (roles), P3 (backward inherits), P4 (what stays partial) of the layout calculus, on
// a light graph that a pass fills from IR. Knows no op by name: all that matters about an op is in its Rule.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Layout.h"
#include <map>
#include <optional>

namespace lf {

using Roles = std::map<char, Axes>; ///< factor -> axes that split it in one op

/// What an op states about itself: one factor letter per dim of each operand, then of each result.
struct Rule {
  std::vector<std::string> operands, results;
  std::string blocked;                  ///< factors that must be whole
  std::set<int> linear;                 ///< operands that may be partial, the results then being partial as well
  Reduction reduction = Reduction::sum; ///< kind of the results' partial axes
  bool isSum = false;                   ///< the n-ary sum (R2, P4)
  std::string ring;                     ///< factors that share an axis by the op's own exchange ("st"), or empty
};

/// Where a value comes from. Parameters and inputs live as seeded, else whole. A contribution that is still to be
/// summed (raw) has no home and stays as produced; one that is the whole cotangent is a cotangent or grad.
enum class ValueRole { param, input, act, cotangent, grad, raw };

struct GValue {
  std::string name;
  Shape shape;
  ValueRole role = ValueRole::act;
  int op = -1, result = -1;   ///< producer and the number of its result, or -1
  int primal = -1;            ///< forward value of a cotangent or gradient (P3)
  int target = -1;            ///< parameter to whose gradient this contributes
  std::optional<Layout> seed; ///< dims only: a seeded value is finished and not flat
  Axes closed;                ///< axes over which a parameter is repeated on purpose
  /// Leaves its function: partial if it is a gradient, or an unseeded value (a loss sum) whose other uses, if any,
  /// accept that by P4; else finished. Values saved for the backward are no outputs here: the backward names them
  /// directly.
  bool output = false;
};

struct GOp {
  std::string name; ///< for messages: matmul "q" (decoder)
  Rule rule;
  std::vector<int> operands, results;
  std::map<char, int64_t> sizes; ///< whole size of each factor
  int of = -1;                   ///< adjoint of this op (P3), or -1
  std::optional<Roles> pin; ///< roles that a strategy fixes; an adjoint inherits them, so only forward ops have one
};

/// One forward function and its backward; indices are into the two vectors. Ops are in program order.
struct Graph {
  std::vector<GValue> values;
  std::vector<GOp> forward, backward; ///< GOp::of indexes forward; GValue::op indexes forward, then backward
  const GOp &op(int i) const { return i < int(forward.size()) ? forward[i] : backward[i - forward.size()]; }
};

struct Propagated {
  std::vector<Roles> roles;                ///< one for each op, forward then backward
  std::vector<std::optional<Layout>> home; ///< one for each value; none for a contribution
};

/// Layout that operand i of an op must have. `partial`: axes that it may keep (linear operands).
Layout required(const GOp &, int i, const Roles &, const std::set<std::string> &partial = {});
/// Layout of result j as the local kernel leaves it: partial over the axes of factors that the result lacks, and over
/// `passed`, what its linear operands were partial over.
Layout natural(const GOp &, int j, const Roles &, const std::set<std::string> &passed = {});

/// Runs P1 to P4. `off`: rules left out, so that tests can show that each is needed: "P1b", "P4", "closed", and "P3"
/// (backward roles by P2 instead of inherited; they come out the same).
/// Throws LayoutError with both sources named where the rules cannot decide (never a guess), where a seed or a pin
/// breaks L1 or L2 or names what is not there, and where a rule does not fit its op.
Propagated propagate(const Mesh &, const Graph &, const std::set<std::string> &off = {});

} // namespace lf
