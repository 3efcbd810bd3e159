//===- Mesh.cpp - Named axes, and where a rank stands along them ----------===//
//
// The rank is the mixed-radix number of its coordinates, first axis major. L1 and L2 are checked here, since both need
// a shape or a size.
//
//===----------------------------------------------------------------------===//
#include "Text.h"
#include "lf/Layout/Layout.h"
#include <algorithm>
#include <map>

namespace lf {

Mesh::Mesh(std::vector<std::pair<std::string, int64_t>> axes) : list(std::move(axes)) {
  std::set<std::string> seen;
  for (const auto &[axis, size] : list) {
    if (!seen.insert(axis).second)
      throw LayoutError("expected each axis once in the mesh, got \"" + axis + "\" twice");
    if (size < 1)
      throw LayoutError("expected the size of axis \"" + axis + "\" to be at least 1, got " + std::to_string(size));
  }
}

bool Mesh::has(const std::string &axis) const {
  return std::any_of(list.begin(), list.end(), [&](const auto &a) { return a.first == axis; });
}

int64_t Mesh::size(const std::string &axis) const {
  for (const auto &[name, size] : list)
    if (name == axis)
      return size;
  std::string known;
  for (const auto &[name, size] : list)
    known += (known.empty() ? "\"" : ", \"") + name + "\"";
  throw LayoutError("expected an axis of the mesh (" + (known.empty() ? "it has none" : known) + "), got \"" + axis +
                    "\"");
}

int64_t Mesh::size(const Axes &axes) const {
  int64_t n = 1;
  for (const std::string &a : axes)
    n *= size(a);
  return n;
}

int64_t Mesh::size(const std::set<std::string> &axes) const { return size(Axes(axes.begin(), axes.end())); }

int64_t Mesh::world() const {
  int64_t n = 1;
  for (const auto &axis : list)
    n *= axis.second;
  return n;
}

int64_t Mesh::index(int64_t rank, const Axes &axes) const {
  std::map<std::string, int64_t> coordinate;
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    coordinate[it->first] = rank % it->second;
    rank /= it->second;
  }
  int64_t i = 0;
  for (const std::string &a : axes)
    i = i * size(a) + coordinate[a];
  return i;
}

std::vector<std::vector<int64_t>> Mesh::groups(const Axes &axes) const {
  Axes others;
  for (const auto &axis : list)
    if (std::find(axes.begin(), axes.end(), axis.first) == axes.end())
      others.push_back(axis.first);
  std::vector<std::vector<int64_t>> out(size(others), std::vector<int64_t>(size(axes)));
  for (int64_t rank = 0, n = world(); rank < n; ++rank)
    out[index(rank, others)][index(rank, axes)] = rank;
  return out;
}

void Mesh::check(const Layout &layout, const Shape &shape, const std::string &what) const {
  const std::string of = " of \"" + what + "\"";
  if (layout.dims.size() != shape.size())
    throw LayoutError("expected the layout" + of + " to have " + text::count(shape.size(), "dim") + ", got " +
                      layout.str());
  const Axes all = layout.axes();
  for (const std::string &a : all)
    if (!has(a)) {
      try {
        size(a);
      } catch (const LayoutError &e) {
        throw LayoutError(std::string(e.what()) + " in the layout" + of);
      }
    }
  if (std::set<std::string>(all.begin(), all.end()).size() != all.size())
    throw LayoutError("expected each axis once in the layout" + of + ", got " + layout.str());
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] % size(layout.dims[d]))
      throw LayoutError("expected dim " + std::to_string(d) + of + " to be a multiple of " +
                        text::product(*this, layout.dims[d]) + ", got " + std::to_string(shape[d]) +
                        "; split it over fewer ranks");
}

Shape Mesh::localShape(const Shape &shape, const Layout &layout) const {
  Shape out = shape;
  for (size_t d = 0; d < out.size() && d < layout.dims.size(); ++d)
    out[d] /= size(layout.dims[d]);
  return out;
}

int64_t Mesh::localElements(const Shape &shape, const Layout &layout) const {
  int64_t n = 1;
  for (int64_t extent : localShape(shape, layout))
    n *= extent;
  const int64_t shards = size(layout.flat);
  return (n + shards - 1) / shards;
}

} // namespace lf
