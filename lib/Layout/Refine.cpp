//===- Refine.cpp - Atoms of several factorings of the ranks --------------===//
//
// A factoring is known by its strides: the products of its sizes from the minor end. The refinement exists iff all
// strides, sorted, divide one another.
//
//===----------------------------------------------------------------------===//
#include "lf/Layout/Refine.h"
#include <iterator>

namespace lf {
namespace {

std::string describe(const MeshView &view) {
  std::string s;
  for (const auto &[axis, size] : view.axes)
    s += (s.empty() ? "" : " x ") + axis + " " + std::to_string(size);
  return "\"" + view.name + "\" (" + s + ")";
}

struct Span {
  int64_t inner, outer; ///< the axis covers the strides from inner to outer
};

} // namespace

Refinement refine(const std::vector<MeshView> &views) {
  std::map<std::string, Span> spans;
  std::map<int64_t, const MeshView *> bounds; // stride -> the view that has it
  int64_t ranks = 0;
  for (const MeshView &view : views) {
    int64_t stride = 1;
    for (auto it = view.axes.rbegin(); it != view.axes.rend(); ++it) {
      const auto &[axis, size] = *it;
      if (size < 1)
        throw LayoutError("expected the size of axis \"" + axis + "\" to be at least 1, got " + std::to_string(size));
      const auto [known, fresh] = spans.emplace(axis, Span{stride, stride * size});
      if (!fresh && (size > 1 || known->second.outer > known->second.inner) &&
          (known->second.inner != stride || known->second.outer != stride * size))
        throw LayoutError("expected axis \"" + axis + "\" to mean the same ranks in each view, got size " +
                          std::to_string(known->second.outer / known->second.inner) + " at stride " +
                          std::to_string(known->second.inner) + " and size " + std::to_string(size) + " at stride " +
                          std::to_string(stride));
      bounds.emplace(stride, &view);
      stride *= size;
    }
    bounds.emplace(stride, &view);
    if (!ranks)
      ranks = stride;
    if (stride != ranks)
      throw LayoutError("expected the axes of " + describe(view) + " to have the product " + std::to_string(ranks) +
                        " of " + describe(views.front()) + ", got " + std::to_string(stride));
  }
  for (auto it = bounds.begin(); it != bounds.end() && std::next(it) != bounds.end(); ++it)
    if (const auto next = std::next(it); next->first % it->first)
      throw LayoutError("expected strides of " + describe(*it->second) + " and " + describe(*next->second) +
                        " that divide one another, got " + std::to_string(it->first) + " and " +
                        std::to_string(next->first) + "; choose sizes of which one is a multiple of the other");

  // Each axis of the first view names the atoms inside it; every atom lies in one of them.
  std::map<int64_t, std::string> atoms; // inner stride -> name
  std::vector<std::pair<std::string, int64_t>> axes;
  const auto inside = [&](const Span &s) { // inner strides, major to minor
    std::vector<int64_t> out;
    for (auto it = bounds.lower_bound(s.inner); it != bounds.end() && it->first < s.outer; ++it)
      out.insert(out.begin(), it->first);
    return out;
  };
  for (const auto &entry : views.empty() ? std::vector<std::pair<std::string, int64_t>>() : views.front().axes) {
    const std::vector<int64_t> parts = inside(spans.at(entry.first));
    for (size_t i = 0; i < parts.size(); ++i) {
      atoms[parts[i]] = entry.first + (parts.size() > 1 ? std::to_string(i) : "");
      axes.emplace_back(atoms[parts[i]], bounds.upper_bound(parts[i])->first / parts[i]);
    }
  }
  Refinement out{Mesh(axes), {}};
  for (const auto &[axis, span] : spans) {
    Axes &list = out.names[axis];
    for (int64_t stride : inside(span))
      list.push_back(atoms.at(stride));
  }
  return out;
}

} // namespace lf
