//===- Placement.h - Which pipeline rank holds which stage ----------------===//
//
// A model is cut into stages 0 .. ranks * chunks - 1 in the order of the forward pass. A placement maps a stage to
// (rank, chunk) and back; every other file asks it and none computes the mapping again.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace lf {

enum class PlacementKind {
  roundRobin, ///< stage = chunk * ranks + rank (Megatron's virtual stages)
  vee         ///< two chunks: stage s < ranks on rank s, else on rank 2 * ranks - 1 - s (ZB-V)
};

struct Placement {
  PlacementKind kind = PlacementKind::roundRobin;
  int64_t ranks = 1, chunks = 1;

  int64_t stages() const { return ranks * chunks; }
  int64_t chunkOf(int64_t stage) const { return stage / ranks; }
  int64_t rankOf(int64_t stage) const {
    int64_t place = stage % ranks;
    return kind == PlacementKind::vee && chunkOf(stage) % 2 == 1 ? ranks - 1 - place : place;
  }
  int64_t stageOf(int64_t rank, int64_t chunk) const {
    bool backwards = kind == PlacementKind::vee && chunk % 2 == 1;
    return chunk * ranks + (backwards ? ranks - 1 - rank : rank);
  }
};

} // namespace lf
