//===- Factors.cpp - What the rule of an op says about layouts ------------===//
//
// From roles to layouts: what an operand must be, what a result is. And the check that a graph can be propagated at
// all, so that the rules after it need none.
//
//===----------------------------------------------------------------------===//
#include "Propagation.h"
#include "Text.h"

namespace lf {
namespace {

bool has(const std::string &letters, char f) { return letters.find(f) != std::string::npos; }

std::vector<Axes> dimsOf(const std::string &spec, const Roles &roles) {
  std::vector<Axes> dims;
  for (char f : spec) {
    const auto it = roles.find(f);
    dims.push_back(it == roles.end() ? Axes() : it->second);
  }
  return dims;
}

/// Axes that the factors of `ring` share: the op itself exchanges along them, so no result is partial over them.
std::set<std::string> exchanged(const Rule &rule, const Roles &roles) {
  std::map<std::string, size_t> seen;
  for (char f : rule.ring)
    if (const auto it = roles.find(f); it != roles.end())
      for (const std::string &a : it->second)
        ++seen[a];
  std::set<std::string> out;
  for (const auto &[axis, n] : seen)
    if (n > 1)
      out.insert(axis);
  return out;
}

} // namespace

Layout required(const GOp &op, int i, const Roles &roles, const std::set<std::string> &partial) {
  return {dimsOf(op.rule.operands[i], roles), partial, Reduction::sum, {}};
}

Layout natural(const GOp &op, int j, const Roles &roles, const std::set<std::string> &passed) {
  const std::string &spec = op.rule.results[j];
  Layout out{dimsOf(spec, roles), passed, Reduction::sum, {}};
  const std::set<std::string> tied = exchanged(op.rule, roles);
  for (const auto &[factor, axes] : roles)
    if (!has(spec, factor))
      for (const std::string &a : axes)
        if (!tied.count(a))
          out.partial.insert(a);
  if (!out.partial.empty())
    out.kind = op.rule.reduction;
  return out;
}

namespace propagation {
namespace {

/// Throws LayoutError unless values and letters of one op agree, and returns the size of each factor.
std::map<char, int64_t> factorSizes(const Graph &graph, int index) {
  const GOp &op = graph.op(index);
  const auto count = [&](const char *noun, size_t want, size_t got) {
    if (want != got)
      throw LayoutError("expected the rule of " + op.name + " to describe " + text::count(want, noun) + ", got " +
                            std::to_string(got),
                        index);
  };
  count("operand", op.operands.size(), op.rule.operands.size());
  count("result", op.results.size(), op.rule.results.size());
  std::map<char, int64_t> sizes = op.sizes;
  for (size_t i = 0, n = op.operands.size(); i < n + op.results.size(); ++i) {
    const int v = i < n ? op.operands[i] : op.results[i - n];
    const GValue &value = graph.values.at(v);
    const std::string &letters = spec(op, i);
    if (letters.size() != value.shape.size())
      throw LayoutError("expected " + text::count(value.shape.size(), "factor") + " for \"" + value.name + "\" in " +
                            op.name + ", got \"" + letters + "\"",
                        index, {v});
    for (size_t d = 0; d < letters.size(); ++d)
      if (const int64_t have = sizes.emplace(letters[d], value.shape[d]).first->second; have != value.shape[d])
        throw LayoutError("expected dim " + std::to_string(d) + " of \"" + value.name + "\" in " + op.name + " to be " +
                              std::to_string(have) + " (factor \"" + letters[d] + "\"), got " +
                              std::to_string(value.shape[d]),
                          index, {v});
  }
  return sizes;
}

void checkPin(const Mesh &mesh, const GOp &op, int index, const std::map<char, int64_t> &sizes) {
  std::map<std::string, char> role;
  for (const auto &[factor, axes] : *op.pin) {
    const std::string f = std::string("factor \"") + factor + "\"";
    if (!sizes.count(factor))
      throw LayoutError("expected the pin of " + op.name + " to name factors of its rule, got " + f, index);
    if (blocked(op.rule, factor) && !axes.empty())
      throw LayoutError("expected " + f + " of " + op.name +
                            " to be whole, since its kernel needs all of it, got axes " + text::join(axes),
                        index);
    for (const std::string &a : axes) {
      if (!mesh.has(a))
        throw LayoutError("expected the pin of " + op.name + " to name axes of the mesh, got \"" + a + "\"", index);
      const auto [it, fresh] = role.emplace(a, factor);
      if (!fresh && !(it->second != factor && has(op.rule.ring, factor) && has(op.rule.ring, it->second)))
        throw LayoutError("expected one role for axis \"" + a + "\" in " + op.name + ", got factor \"" + it->second +
                              "\" and " + f + " from its pin",
                          index);
    }
  }
}

} // namespace

bool blocked(const Rule &rule, char factor) { return has(rule.blocked, factor) && !has(rule.ring, factor); }

const std::string &spec(const GOp &op, size_t i) {
  return i < op.operands.size() ? op.rule.operands[i] : op.rule.results[i - op.operands.size()];
}

void checkGraph(const Mesh &mesh, const Graph &graph) {
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const GValue &v = graph.values[i];
    for (const std::string &a : v.closed)
      if (!mesh.has(a))
        throw LayoutError("expected the closed axes of \"" + v.name + "\" to be axes of the mesh, got \"" + a + "\"",
                          -1, {int(i)});
    if (!v.seed)
      continue;
    mesh.check(*v.seed, v.shape, v.name);
    if (!v.seed->partial.empty() || !v.seed->flat.empty())
      throw LayoutError("expected the seed of \"" + v.name + "\" to be finished and not flat, got " + v.seed->str(), -1,
                        {int(i)});
  }
  for (int i = 0, n = int(graph.forward.size() + graph.backward.size()); i < n; ++i) {
    const GOp &op = graph.op(i);
    const auto sizes = factorSizes(graph, i);
    if (op.pin)
      checkPin(mesh, op, i, sizes);
  }
}

} // namespace propagation
} // namespace lf
