//===- ArenaPlan.cpp - Offsets for buffers with known lifetimes --*- C++ -*-===//
//
// Two greedy orders, the better one wins; both look at the gaps between the buffers that are alive together.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/ArenaPlan.h"
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

using namespace lf;

/// Places buffers in `order` into the tightest gap (or the lowest), among those placed before that are alive with it.
static int64_t place(std::vector<Lifetime> &buffers, const std::vector<size_t> &order, bool tightest, bool byTime) {
  int64_t top = 0;
  std::vector<size_t> placed, near;
  for (size_t i : order) {
    Lifetime &b = buffers[i];
    if (byTime) // In order of time, what ended stays ended.
      std::erase_if(placed, [&](size_t j) { return buffers[j].last < b.first; });
    near.clear();
    for (size_t j : placed)
      if (buffers[j].first <= b.last && b.first <= buffers[j].last)
        near.push_back(j);
    std::sort(near.begin(), near.end(), [&](size_t x, size_t y) { return buffers[x].offset < buffers[y].offset; });
    int64_t size = aligned(b.bytes), at = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (size_t j : near) {
      int64_t gap = buffers[j].offset - at;
      if (gap >= size && gap < bestGap) {
        best = at;
        bestGap = tightest ? gap : 0;
      }
      at = std::max(at, buffers[j].offset + aligned(buffers[j].bytes));
    }
    b.offset = best >= 0 ? best : at;
    top = std::max(top, b.offset + size);
    placed.push_back(i);
  }
  return top;
}

int64_t lf::planArena(std::vector<Lifetime> &buffers) {
  std::vector<size_t> time(buffers.size());
  std::iota(time.begin(), time.end(), size_t(0));
  std::sort(time.begin(), time.end(),
            [&](size_t x, size_t y) { return std::pair(buffers[x].first, x) < std::pair(buffers[y].first, y); });
  int64_t bytes = place(buffers, time, false, true);
  // Quadratic: not for programs of thousands of micro-batches, whose bundles are of few sizes anyway.
  if (buffers.size() > 2000)
    return bytes;
  std::vector<Lifetime> other = buffers;
  std::vector<size_t> size = time;
  std::sort(size.begin(), size.end(), [&](size_t x, size_t y) {
    return std::tuple(-buffers[x].bytes, buffers[x].first, x) < std::tuple(-buffers[y].bytes, buffers[y].first, y);
  });
  if (int64_t otherBytes = place(other, size, true, false); otherBytes < bytes) {
    buffers = std::move(other);
    return otherBytes;
  }
  return bytes;
}

std::vector<int64_t> lf::liveBytes(const std::vector<Lifetime> &buffers, int64_t times) {
  std::vector<int64_t> live(times + 1, 0);
  for (const Lifetime &b : buffers) {
    live[b.first] += b.bytes;
    live[b.last + 1] -= b.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.resize(times);
  return live;
}
