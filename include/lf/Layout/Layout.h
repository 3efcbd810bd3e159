//===- Layout.h - Mesh, layout, and the conversion of one into another ----===//
//
// Plain C++ core of docs/levels.md: a layout has, for each dim, the mesh axes that split it (major to minor), the axes
// over which the value is still an unfinished reduction, and the axes that split its flattened shard.
//
//   L1  an axis occurs at most once in dims + partial + flat
//   L2  each dim is a multiple of the product of the sizes of its axes (flat pads, dims never do)
//   L3  a conversion adds or removes minor-most axes only: blocks stay contiguous
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lf {

using Axes = std::vector<std::string>; ///< axis names, major to minor
using Shape = std::vector<int64_t>;
enum class Reduction { sum, max };

/// A layout that the rules refuse. Passes turn it into a diagnostic at the op, with a note at each source.
struct LayoutError : std::runtime_error {
  explicit LayoutError(const std::string &message, int op = -1, std::vector<int> sources = {})
      : std::runtime_error(message), op(op), sources(std::move(sources)) {}
  int op;                   ///< op of the Graph (forward, then backward), or -1
  std::vector<int> sources; ///< values of the Graph that disagree
};

struct Layout {
  std::vector<Axes> dims;
  std::set<std::string> partial;
  Reduction kind = Reduction::sum; ///< sum when nothing is partial
  Axes flat;

  static Layout whole(size_t rank) { return {std::vector<Axes>(rank), {}, Reduction::sum, {}}; }
  /// All axes, dims first, then partial, then flat.
  Axes axes() const;
  std::string str() const; ///< [{dp}, {}] sum<tp> flat<dp>
  bool operator==(const Layout &) const = default;
  bool operator<(const Layout &) const; ///< an order for maps, with no further meaning
};

/// Named axes, major to minor: the rank is the mixed-radix number of its coordinates.
class Mesh {
public:
  Mesh() = default;
  /// Throws LayoutError unless names are unique and sizes at least 1. Leave axes of size 1 out: they cost nothing, but
  /// each conversion over one would still be a step.
  explicit Mesh(std::vector<std::pair<std::string, int64_t>> axes);
  const std::vector<std::pair<std::string, int64_t>> &axes() const { return list; }
  bool has(const std::string &axis) const;
  int64_t size(const std::string &axis) const; ///< throws LayoutError for an axis that the mesh lacks
  int64_t size(const Axes &axes) const;
  int64_t size(const std::set<std::string> &axes) const;
  int64_t world() const;
  /// Position of `rank` along an axis list, first axis major.
  int64_t index(int64_t rank, const Axes &axes) const;
  /// Ranks that differ only along `axes`: one list for each group, in the order of the axis list (not of the mesh).
  std::vector<std::vector<int64_t>> groups(const Axes &axes) const;
  /// Throws LayoutError unless L1 and L2 hold; `what` names the value.
  void check(const Layout &, const Shape &, const std::string &what) const;
  Shape localShape(const Shape &, const Layout &) const;
  int64_t localElements(const Shape &, const Layout &) const; ///< flat padding counted

private:
  std::vector<std::pair<std::string, int64_t>> list;
};

enum class StepKind { slice, mask, allGather, reduceScatter, allReduce, allToAll };
const char *name(StepKind); ///< "all_gather"

/// One step of a conversion. dim == number of dims means `flat`. An all-to-all moves `axes` from the end of dim
/// moves[i].from to the end of dim moves[i].to; axes that leave one dim for another move as one unit.
struct Step {
  struct Move {
    Axes axes;
    int from, to;
    bool operator==(const Move &) const = default;
  };
  StepKind kind;
  Axes axes;
  int dim = -1;                         ///< of slice, all_gather, reduce_scatter; -1 for the others
  std::vector<Move> moves;              ///< of all_to_all
  Reduction reduction = Reduction::sum; ///< of reduce_scatter and all_reduce; a mask fills with its neutral element
  bool operator==(const Step &) const = default;
};

/// The steps from `src` to `dst`, found greedily in the order slice, reduce-scatter, all-to-all, all-reduce, all-gather
/// so that data stays small; neighbouring steps of one kind and dim merge. `flat` is entered last and left first, as a
/// whole, since its padding belongs to the full list of axes. Throws LayoutError when there is none: ranks differ, an
/// axis occurs twice (L1), or one unfinished reduction would have to become one of another kind.
std::vector<Step> conversion(const Layout &src, const Layout &dst);
/// The layout after one step. Throws LayoutError for a step that L1 or L3 forbids on this layout.
Layout after(const Layout &, const Step &);
/// Elements that one rank sends for these steps: (n-1)/n of the larger side, twice that for an all-reduce.
int64_t volume(const Mesh &, const std::vector<Step> &, const Shape &, Layout src);

} // namespace lf
