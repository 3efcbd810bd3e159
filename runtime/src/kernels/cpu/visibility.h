// visibility.h - which blocks of keys a block of queries can see, from their positions alone.
//
// Idea: the smallest and largest position of each block decide most pairs of blocks whole; only pairs on an edge of the
// mask are looked at key by key. Positions may come in any order.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lf::rt {

enum class Visibility { none, some, all };

struct PositionRange {
  int32_t lowest, highest;
};

inline PositionRange position_range(const int32_t *pos, int64_t count) {
  const auto [lowest, highest] = std::minmax_element(pos, pos + count);
  return {*lowest, *highest};
}

/// Key at position k is visible to the query at position q: k <= q and, with window > 0, q - k < window.
inline bool visible(int32_t q, int32_t k, int64_t window) { return k <= q && (window <= 0 || int64_t{q} - k < window); }

inline Visibility block_visibility(PositionRange q, PositionRange k, int64_t window) {
  if (k.lowest > q.highest || (window > 0 && int64_t{q.lowest} - k.highest >= window))
    return Visibility::none;
  if (k.highest <= q.lowest && (window <= 0 || int64_t{q.highest} - k.lowest < window))
    return Visibility::all;
  return Visibility::some;
}

} // namespace lf::rt
