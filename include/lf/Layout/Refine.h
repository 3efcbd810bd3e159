//===- Refine.h - One mesh under several sets of names --------------------===//
//
// The dense axes (dp, cp, tp) and the expert axes (edp, ep, etp) are two factorings of the same ranks. The mesh is
// their common refinement: atomic axes, of which each strategy axis is a list. So there is never a second mesh, and a
// conversion between the two views is an ordinary conversion.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Layout.h"
#include <map>

namespace lf {

/// One factoring of the ranks, major to minor. `name` is for messages: dense, expert.
struct MeshView {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;
};

struct Refinement {
  Mesh mesh;                         ///< atoms of size 2 and more
  std::map<std::string, Axes> names; ///< axis of any view -> its atoms, major to minor; empty for an axis of size 1
};

/// The common refinement of `views`. An atom takes the name of the axis of the first view that it is, or that name with
/// a number where the axis has several (dp0, dp1, major to minor). Throws LayoutError when the views differ in the
/// number of ranks, when an axis has two sizes, or when their boundaries do not divide one another.
Refinement refine(const std::vector<MeshView> &views);

} // namespace lf
