//===- Partials.cpp - Rule P4: what stays partial -------------------------===//
//
// The greatest fixpoint: everything that is produced partial stays so until a use objects. In short, a sum is left
// unfinished only where it merges with others or ends in a gradient. Uses are counted over forward and backward.
//
//===----------------------------------------------------------------------===//
#include "Propagation.h"
#include <algorithm>

namespace lf::propagation {

/// An output that may leave its function partial: a gradient, or a loss sum (unseeded, without another use).
bool Propagation::ends(int v) const {
  const GValue &val = value(v);
  if (!val.output)
    return false;
  if (val.role == ValueRole::grad || (val.role == ValueRole::raw && val.target >= 0))
    return true;
  return val.role == ValueRole::act && !seeded(v) && uses[v].empty();
}

std::set<std::string> Propagation::naturalPartial(int index, int result) const {
  const GOp &op = graph.op(index);
  std::set<std::string> out;
  if (op.rule.isSum) {
    // An output may stay partial over the union: the other terms are masked, which is free.
    const bool all = ends(op.results[result]);
    for (int v : op.operands)
      out.insert(part[v].begin(), part[v].end());
    for (int v : op.operands)
      for (auto it = out.begin(); !all && it != out.end();)
        it = part[v].count(*it) ? std::next(it) : out.erase(it);
    return out;
  }
  for (int i : op.rule.linear)
    out.insert(part[op.operands[i]].begin(), part[op.operands[i]].end());
  for (const auto &entry : roles[index])
    for (const std::string &a : entry.second)
      out.erase(a);
  return natural(op, result, roles[index], out).partial;
}

/// Whether one use leaves operand `operand` partial over `axis`.
bool Propagation::accepts(int index, int operand, const std::string &axis) const {
  if (off.count("P4"))
    return false;
  const GOp &op = graph.op(index);
  bool other = false;
  for (size_t i = 0; i < op.operands.size(); ++i)
    other |= int(i) != operand && part[op.operands[i]].count(axis);
  if (op.rule.isSum)
    return other || ends(op.results[0]);
  if (other || !op.rule.linear.count(operand))
    return false;
  for (const auto &entry : roles[index])
    if (std::find(entry.second.begin(), entry.second.end(), axis) != entry.second.end())
      return false;
  return std::all_of(op.results.begin(), op.results.end(), [&](int r) { return ends(r) || part[r].count(axis); });
}

void Propagation::settle() {
  bool first = true;
  for (bool changed = true; changed; first = false) {
    changed = false;
    for (int o = 0; o < numOps(); ++o)
      for (size_t j = 0; j < graph.op(o).results.size(); ++j) {
        const int r = graph.op(o).results[j];
        std::set<std::string> p = naturalPartial(o, int(j));
        if (!first)
          std::erase_if(p, [&](const std::string &a) { return !keep[r].count(a); });
        part[r] = std::move(p);
      }
    for (int o = 0; o < numOps(); ++o)
      for (int v : graph.op(o).results) {
        // Only sums merge by adding. A seeded value is finished, and so is the cotangent of one.
        const bool may = graph.op(o).rule.reduction == Reduction::sum && !seeded(owner(v)) && !uses[v].empty();
        std::set<std::string> ok;
        for (const std::string &a : part[v])
          if (ends(v) || (may && std::all_of(uses[v].begin(), uses[v].end(),
                                             [&](const auto &use) { return accepts(use.first, use.second, a); })))
            ok.insert(a);
        changed |= ok != part[v];
        part[v] = keep[v] = std::move(ok); // at once: of two partial factors of a product, only one is finished
      }
  }
}

} // namespace lf::propagation
