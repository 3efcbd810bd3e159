//===- ArenaPlan.h - Offsets for buffers with known lifetimes ---------------===//
//
// Static memory planning: buffers alive at one time never overlap. Plain C++; used for workspace, bundles and messages.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace lf {

/// Every offset and padded size is a multiple of this many bytes.
constexpr int64_t arenaAlignment = 64;
inline int64_t aligned(int64_t bytes) { return (bytes + arenaAlignment - 1) / arenaAlignment * arenaAlignment; }

/// One buffer, alive from time `first` to time `last`, both included.
struct Lifetime {
  int64_t bytes = 0, first = 0, last = 0;
  int64_t offset = -1; ///< set by planArena
};

/// Sets all offsets; yields the bytes of the arena. Deterministic: the better of best fit by falling size and first fit
/// in order of time (the latter is optimal for buffers of one size).
int64_t planArena(std::vector<Lifetime> &);
/// Bytes alive (without padding) at each time from 0 to `times` - 1.
std::vector<int64_t> liveBytes(const std::vector<Lifetime> &, int64_t times);

} // namespace lf
