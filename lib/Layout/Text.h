//===- Text.h - Pieces of the messages of this folder ---------------------===//
//
// One spelling of axis lists, counts and products, so that every refusal shows its arithmetic alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Layout.h"

namespace lf::text {

inline std::string join(const Axes &axes, const char *separator = ",") {
  std::string s;
  for (const std::string &a : axes)
    s += (s.empty() ? "" : separator) + a;
  return s;
}

/// 1 dim, 2 dims
inline std::string count(size_t n, const std::string &noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// 4 (axis "tp" of size 4), or 8 (axes "cp" x "tp" of sizes 2 x 4)
inline std::string product(const Mesh &mesh, const Axes &axes) {
  std::string names, sizes;
  for (const std::string &a : axes) {
    names += (names.empty() ? "\"" : " x \"") + a + "\"";
    sizes += (sizes.empty() ? "" : " x ") + std::to_string(mesh.size(a));
  }
  return std::to_string(mesh.size(axes)) + (axes.size() == 1 ? " (axis " : " (axes ") + names +
         (axes.size() == 1 ? " of size " : " of sizes ") + sizes + ")";
}

} // namespace lf::text
