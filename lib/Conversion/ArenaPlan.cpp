//===- ArenaPlan.cpp - Offsets for buffers with known lifetimes --*- C++ -*-===//
//
// Two greedy orders, the better one wins; both look at the gaps between the buffers that are alive together.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/ArenaPlan.h"
#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

using namespace lf;

/// Places buffers in order of time into the lowest gap that takes them; what ended stays ended.
static int64_t placeByTime(std::vector<Lifetime> &buffers, const std::vector<size_t> &order) {
  int64_t top = 0;
  std::map<int64_t, int64_t> gaps = {{0, std::numeric_limits<int64_t>::max()}}; // offset -> end; the last is open
  std::priority_queue<std::pair<int64_t, size_t>, std::vector<std::pair<int64_t, size_t>>, std::greater<>> alive; // by last
  for (size_t i : order) {
    Lifetime &b = buffers[i];
    for (; !alive.empty() && alive.top().first < b.first; alive.pop()) {
      const Lifetime &dead = buffers[alive.top().second];
      auto behind = gaps.lower_bound(dead.offset);
      int64_t end = dead.offset + aligned(dead.bytes);
      if (behind->first == end) { // the open gap is behind every buffer
        end = behind->second;
        behind = gaps.erase(behind);
      }
      if (behind != gaps.begin() && std::prev(behind)->second == dead.offset)
        std::prev(behind)->second = end;
      else
        gaps.emplace(dead.offset, end);
    }
    const int64_t size = aligned(b.bytes);
    auto gap = gaps.begin();
    while (gap->second - gap->first < size)
      ++gap;
    b.offset = gap->first;
    top = std::max(top, b.offset + size);
    if (size == 0)
      continue;
    const int64_t end = gap->second;
    gaps.erase(gap);
    if (b.offset + size < end)
      gaps.emplace(b.offset + size, end);
    alive.push({b.last, i});
  }
  return top;
}

/// Places buffers in `order` into the tightest gap among those placed before that are alive with them.
static int64_t placeTightest(std::vector<Lifetime> &buffers, const std::vector<size_t> &order) {
  int64_t top = 0;
  std::vector<size_t> placed, near;
  for (size_t i : order) {
    Lifetime &b = buffers[i];
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
        bestGap = gap;
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
  int64_t bytes = placeByTime(buffers, time);
  // Quadratic: not for programs of thousands of micro-batches, whose bundles are of few sizes anyway.
  if (buffers.size() > 2000)
    return bytes;
  std::vector<Lifetime> other = buffers;
  std::vector<size_t> size = time;
  std::sort(size.begin(), size.end(), [&](size_t x, size_t y) {
    return std::tuple(-buffers[x].bytes, buffers[x].first, x) < std::tuple(-buffers[y].bytes, buffers[y].first, y);
  });
  if (int64_t otherBytes = placeTightest(other, size); otherBytes < bytes) {
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
