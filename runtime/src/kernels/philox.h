// philox.h - Philox4x32-10, a random function of a counter and a key (Salmon et al., "Parallel random numbers: as easy
// as 1, 2, 3", 2011).
//
// Idea: random numbers without state: a plan that gives an element to another rank gives it the same number.
#pragma once

#include <array>
#include <cstdint>

namespace lf::rt {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Four uniform 32-bit words.
constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

} // namespace lf::rt
