// reduce.cpp - reductions in a fixed order, in blocks that stay in the first-level cache.
//
// Idea: a block is summed over all sources before the next one, so that y is written once.
#include "comm/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lf::rt {
namespace {

constexpr int64_t block = 1024;

float widen(uint16_t x) {
  uint32_t bits = static_cast<uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint16_t narrow(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value))
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Stored: what memory holds; Real: what is added.
template <class Stored, class Real, class Load, class Store>
void reduce(const void *const *xs, int32_t n, void *y, int64_t count, lf_reduction op, Load load, Store store) {
  Real sum[block];
  for (int64_t begin = 0; begin < count; begin += block) {
    int64_t length = std::min(block, count - begin);
    const Stored *x = static_cast<const Stored *>(xs[0]) + begin;
    for (int64_t i = 0; i < length; ++i)
      sum[i] = load(x[i]);
    for (int32_t r = 1; r < n; ++r) {
      x = static_cast<const Stored *>(xs[r]) + begin;
      if (op == LF_SUM)
        for (int64_t i = 0; i < length; ++i)
          sum[i] += load(x[i]);
      else // a NaN stays one, on whichever rank it is
        for (int64_t i = 0; i < length; ++i)
          sum[i] = load(x[i]) > sum[i] || std::isnan(load(x[i])) ? load(x[i]) : sum[i];
    }
    Stored *out = static_cast<Stored *>(y) + begin;
    for (int64_t i = 0; i < length; ++i)
      out[i] = store(sum[i]);
  }
}

} // namespace

void reduce_in_order(const void *const *xs, int32_t n, void *y, int64_t count, lf_dtype dtype, lf_reduction op) {
  auto same = [](auto v) { return v; };
  if (dtype == LF_F64)
    reduce<double, double>(xs, n, y, count, op, same, same);
  else if (dtype == LF_F32)
    reduce<float, float>(xs, n, y, count, op, same, same);
  else
    reduce<uint16_t, float>(xs, n, y, count, op, widen, narrow);
}

} // namespace lf::rt
