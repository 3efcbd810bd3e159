//===- Conversion.cpp - Steps from one layout to another ------------------===//
//
// A greedy search that never looks back: at each point the step that leaves the least data is taken (slice,
// reduce-scatter, all-to-all, all-reduce, all-gather). It ends because a gather only undoes axes of the source.
//
//===----------------------------------------------------------------------===//
#include "Text.h"
#include "lf/Layout/Layout.h"
#include <algorithm>
#include <optional>

namespace lf {
namespace {

bool contains(const Axes &list, const std::string &axis) {
  return std::find(list.begin(), list.end(), axis) != list.end();
}

bool endsWith(const Axes &list, const Axes &tail) {
  return list.size() >= tail.size() && std::equal(tail.rbegin(), tail.rend(), list.rbegin());
}

bool unique(const Layout &l) {
  const Axes all = l.axes();
  return std::set<std::string>(all.begin(), all.end()).size() == all.size();
}

/// The axis lists of a layout: one for each dim, and `flat` as one more dim at the end.
std::vector<Axes> lists(const Layout &l) {
  std::vector<Axes> out = l.dims;
  out.push_back(l.flat);
  return out;
}

class Search {
public:
  Search(const Layout &src, const Layout &dst)
      : now(lists(src)), want(lists(dst)), partial(src.partial), keep(dst.partial), from(src.kind), to(dst.kind),
        flat(int(src.dims.size())) {}

  std::vector<Step> run() {
    while (now != want || !finishable().empty())
      if (!enterFlat() && !sliceOrScatter() && !exchange() && !finish())
        gather();
    std::set<std::string> rest;
    std::set_difference(keep.begin(), keep.end(), partial.begin(), partial.end(), std::inserter(rest, rest.end()));
    if (!rest.empty())
      push({StepKind::mask, Axes(rest.begin(), rest.end()), -1, {}, to});
    return std::move(steps);
  }

private:
  std::vector<Axes> now, want;
  std::set<std::string> partial, keep;
  Reduction from, to;
  int flat;
  std::vector<Step> steps;

  bool onTheWay(int d) const { // what is there stays there
    return now[d].size() <= want[d].size() && std::equal(now[d].begin(), now[d].end(), want[d].begin());
  }
  /// The axis that dim d takes next; none while it must lose axes first, or while `flat` waits for the dims.
  std::optional<std::string> next(int d) const {
    if (!onTheWay(d) || now[d].size() == want[d].size())
      return {};
    if (d == flat && !std::equal(now.begin(), now.end() - 1, want.begin()))
      return {};
    return want[d][now[d].size()];
  }
  bool inDims(const std::string &axis) const {
    return std::any_of(now.begin(), now.end(), [&](const Axes &d) { return contains(d, axis); });
  }
  Axes finishable() const {
    Axes out;
    std::set_difference(partial.begin(), partial.end(), keep.begin(), keep.end(), std::back_inserter(out));
    return out;
  }

  void push(Step step) {
    if (!steps.empty() && steps.back().kind == step.kind && steps.back().dim == step.dim) {
      Step &last = steps.back();
      // Gathered minor first, while a list is written major first.
      last.axes.insert(step.kind == StepKind::allGather ? last.axes.begin() : last.axes.end(), step.axes.begin(),
                       step.axes.end());
      last.moves.insert(last.moves.end(), step.moves.begin(), step.moves.end());
      return;
    }
    steps.push_back(std::move(step));
  }

  /// Shards of `flat` are cut out of one padded block, so the block must be cut by one step. Where only some of the
  /// axes are partial, the others are masked (free), and one reduce-scatter cuts over all of them.
  bool enterFlat() {
    if (!next(flat) || !now[flat].empty())
      return false;
    Axes whole;
    for (const std::string &a : want[flat])
      if (!partial.count(a))
        whole.push_back(a);
    if (whole.empty() || whole.size() == want[flat].size())
      return false;
    push({StepKind::mask, whole, -1, {}, from});
    partial.insert(whole.begin(), whole.end());
    return true;
  }

  bool sliceOrScatter() {
    int scatter = -1;
    for (int d = 0; d <= flat; ++d) {
      const auto axis = next(d);
      if (!axis)
        continue;
      if (!partial.count(*axis) && !inDims(*axis)) {
        push({StepKind::slice, {*axis}, d, {}, Reduction::sum});
        now[d].push_back(*axis);
        return true;
      }
      if (partial.count(*axis) && scatter < 0)
        scatter = d;
    }
    if (scatter < 0)
      return false;
    const std::string axis = *next(scatter);
    push({StepKind::reduceScatter, {axis}, scatter, {}, from});
    now[scatter].push_back(axis);
    partial.erase(axis);
    return true;
  }

  bool exchange() {
    for (int d = 0; d < flat; ++d) {
      if (!next(d))
        continue;
      for (int e = 0; e < flat; ++e) {
        if (e == d || onTheWay(e))
          continue;
        for (size_t n = std::min(now[e].size(), want[d].size() - now[d].size()); n > 0; --n) {
          const Axes unit(now[e].end() - n, now[e].end());
          if (!std::equal(unit.begin(), unit.end(), want[d].begin() + now[d].size()))
            continue;
          push({StepKind::allToAll, unit, -1, {{unit, e, d}}, Reduction::sum});
          now[e].resize(now[e].size() - n);
          now[d].insert(now[d].end(), unit.begin(), unit.end());
          return true;
        }
      }
    }
    return false;
  }

  bool finish() {
    Axes done;
    for (const std::string &a : finishable())
      if (std::none_of(want.begin(), want.end(), [&](const Axes &d) { return contains(d, a); }))
        done.push_back(a);
    if (done.empty())
      return false;
    for (const std::string &a : done)
      partial.erase(a);
    push({StepKind::allReduce, done, -1, {}, from});
    return true;
  }

  void gather() {
    for (int d = 0; d <= flat; ++d)
      if (!onTheWay(d)) {
        push({StepKind::allGather, {now[d].back()}, d, {}, Reduction::sum});
        now[d].pop_back();
        return;
      }
    throw std::logic_error("lf::conversion: no step left"); // L1 of both layouts excludes it
  }
};

} // namespace

std::vector<Step> conversion(const Layout &src, const Layout &dst) {
  std::set<std::string> kept;
  std::set_intersection(src.partial.begin(), src.partial.end(), dst.partial.begin(), dst.partial.end(),
                        std::inserter(kept, kept.end()));
  const std::string what = "expected a conversion from " + src.str() + " to " + dst.str() + ", got none: ";
  if (src.dims.size() != dst.dims.size())
    throw LayoutError(what + text::count(src.dims.size(), "dim") + " against " + std::to_string(dst.dims.size()));
  if (!unique(src) || !unique(dst))
    throw LayoutError(what + "an axis occurs twice (rule L1)");
  if (src.kind != dst.kind && !kept.empty())
    throw LayoutError(what + "an unfinished reduction keeps its kind");
  // Storage form is left first. Another list of flat axes is padded differently, so it is reached through the dims.
  if (!src.flat.empty() && (src.dims != dst.dims || (!dst.flat.empty() && src.flat != dst.flat))) {
    const Layout mid{src.dims, kept, kept.empty() ? Reduction::sum : src.kind, {}};
    std::vector<Step> steps = conversion(src, mid), rest = conversion(mid, dst);
    steps.insert(steps.end(), rest.begin(), rest.end());
    return steps;
  }
  return Search(src, dst).run();
}

Layout after(const Layout &layout, const Step &step) {
  std::vector<Axes> now = lists(layout);
  Layout out = layout;
  const auto refuse = [&](const std::string &want) {
    throw LayoutError("expected " + want + " for " + name(step.kind) + " over \"" + text::join(step.axes) + "\", got " +
                      layout.str());
  };
  const auto at = [&](int d) -> Axes & {
    if (d < 0 || d >= int(now.size()))
      refuse("a dim from 0 to " + std::to_string(now.size() - 1) + " instead of " + std::to_string(d));
    return now[d];
  };
  const auto drop = [&](int d, const Axes &axes) {
    if (!endsWith(at(d), axes))
      refuse("the minor-most axes of dim " + std::to_string(d) + " (rule L3)");
    now[d].resize(now[d].size() - axes.size());
  };
  const bool reduces = step.kind == StepKind::reduceScatter || step.kind == StepKind::allReduce;
  const Axes used = layout.axes();
  for (const std::string &a : step.axes) {
    if (reduces && !out.partial.erase(a))
      refuse("a value partial over \"" + a + "\"");
    if ((step.kind == StepKind::slice || step.kind == StepKind::mask) && contains(used, a))
      refuse("a value whole over \"" + a + "\" (rule L1)");
  }
  switch (step.kind) {
  case StepKind::allGather:
    drop(step.dim, step.axes);
    break;
  case StepKind::slice:
  case StepKind::reduceScatter:
    at(step.dim).insert(at(step.dim).end(), step.axes.begin(), step.axes.end());
    break;
  case StepKind::allToAll:
    for (const Step::Move &move : step.moves) {
      drop(move.from, move.axes);
      at(move.to).insert(at(move.to).end(), move.axes.begin(), move.axes.end());
    }
    break;
  case StepKind::mask:
    if (!layout.partial.empty() && layout.kind != step.reduction)
      refuse("one kind of reduction");
    out.partial.insert(step.axes.begin(), step.axes.end());
    out.kind = step.reduction;
    break;
  case StepKind::allReduce:
    break;
  }
  if (out.partial.empty())
    out.kind = Reduction::sum;
  out.flat = now.back();
  now.pop_back();
  out.dims = now;
  return out;
}

int64_t volume(const Mesh &mesh, const std::vector<Step> &steps, const Shape &shape, Layout layout) {
  int64_t total = 0;
  for (const Step &step : steps) {
    const Layout next = after(layout, step);
    const int64_t n = mesh.size(step.axes);
    const int64_t local = std::max(mesh.localElements(shape, layout), mesh.localElements(shape, next));
    const bool free = step.kind == StepKind::slice || step.kind == StepKind::mask;
    total += (free ? 0 : step.kind == StepKind::allReduce ? 2 : 1) * local * (n - 1) / n;
    layout = next;
  }
  return total;
}

} // namespace lf
