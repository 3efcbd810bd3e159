//===- permutation.h - A shuffled order that is computed, not stored ------===//
//
// A keyed bijection of 0 .. size - 1: no file, no table, the same on every rank and after a resume.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <bit>
#include <cstdint>

namespace lf::rt {

/// A 64-bit finaliser (Steele, Lea, Flood 2014, as in SplitMix64): each input bit changes half of the output bits.
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Permutation {
public:
  /// size >= 1.
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch)
      : size(size), key(mix(seed ^ mix(epoch ^ 0x6461746173657421u))),
        half(size < 4 ? 1 : (std::bit_width(size - 1) + 1) / 2) {}

  /// 0 <= i < size. Six Feistel rounds on the next even power of two; values outside are walked on, fewer than four
  /// times on average.
  uint64_t operator()(uint64_t i) const {
    uint64_t mask = (uint64_t(1) << half) - 1;
    do {
      uint64_t left = i >> half, right = i & mask;
      for (uint64_t round = 0; round < 6; ++round) {
        uint64_t next = left ^ (mix(key + mix(right * 8 + round)) & mask);
        left = right;
        right = next;
      }
      i = left << half | right;
    } while (i >= size);
    return i;
  }

private:
  uint64_t size, key;
  int half; ///< bits of each half
};

} // namespace lf::rt
