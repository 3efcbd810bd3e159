//===- Layout.cpp - Spelling and order of layouts -------------------------===//
//
// A layout prints as [{dp}, {cp,tp}] sum<tp> flat<dp>; parts that are empty are left out.
//
//===----------------------------------------------------------------------===//
#include "lf/Layout/Layout.h"
#include "Text.h"
#include <tuple>

namespace lf {

Axes Layout::axes() const {
  Axes all;
  for (const Axes &d : dims)
    all.insert(all.end(), d.begin(), d.end());
  all.insert(all.end(), partial.begin(), partial.end());
  all.insert(all.end(), flat.begin(), flat.end());
  return all;
}

std::string Layout::str() const {
  std::string s = "[";
  for (size_t d = 0; d < dims.size(); ++d)
    s += (d ? ", {" : "{") + text::join(dims[d]) + "}";
  s += "]";
  if (!partial.empty())
    s += (kind == Reduction::max ? " max<" : " sum<") + text::join(Axes(partial.begin(), partial.end())) + ">";
  if (!flat.empty())
    s += " flat<" + text::join(flat) + ">";
  return s;
}

bool Layout::operator<(const Layout &other) const {
  return std::tie(dims, partial, kind, flat) < std::tie(other.dims, other.partial, other.kind, other.flat);
}

const char *name(StepKind kind) {
  switch (kind) {
  case StepKind::slice:
    return "slice";
  case StepKind::mask:
    return "mask";
  case StepKind::allGather:
    return "all_gather";
  case StepKind::reduceScatter:
    return "reduce_scatter";
  case StepKind::allReduce:
    return "all_reduce";
  case StepKind::allToAll:
    return "all_to_all";
  }
  return "";
}

} // namespace lf
