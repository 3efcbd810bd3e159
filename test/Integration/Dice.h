//===- Dice.h - Random choices that are the same on every machine -----------===//
//
// std::mt19937_64 is specified bit for bit, the standard's distributions are not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace lf::test {

class Dice {
public:
  explicit Dice(uint64_t seed) : random(seed) {}
  /// From low to high, both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  }
  bool percent(int64_t chance) { return between(1, 100) <= chance; }
  template <typename T> T of(const std::vector<T> &values) {
    return values[static_cast<size_t>(between(0, static_cast<int64_t>(values.size()) - 1))];
  }

private:
  std::mt19937_64 random;
};

} // namespace lf::test
