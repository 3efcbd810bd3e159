//===- Matchers.h - How the layout tests look at results ------------------===//
//
// Steps as text, and the message of a refusal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Layout/Layout.h"
#include <gtest/gtest.h>

namespace lf {

/// slice a,b @0; all_to_all a 1>2; all_reduce a; mask max a
inline std::string text(const std::vector<Step> &steps) {
  std::string out;
  const auto list = [](const Axes &axes) {
    std::string s;
    for (const std::string &a : axes)
      s += (s.empty() ? "" : ",") + a;
    return s;
  };
  for (const Step &s : steps) {
    out += (out.empty() ? "" : "; ") + std::string(name(s.kind)) + (s.reduction == Reduction::max ? " max" : "");
    for (const Step::Move &m : s.moves)
      out += " " + list(m.axes) + " " + std::to_string(m.from) + ">" + std::to_string(m.to);
    if (s.moves.empty())
      out += " " + list(s.axes);
    if (s.dim >= 0)
      out += " @" + std::to_string(s.dim);
  }
  return out;
}

template <typename F> std::string refusal(F &&f) {
  try {
    f();
  } catch (const LayoutError &e) {
    return e.what();
  }
  return "nothing was refused";
}

} // namespace lf
