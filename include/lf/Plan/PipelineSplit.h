//===- PipelineSplit.h - Layers to stages, as layout strings ----------------===//
//
// The splits that flags can ask for without a layout string, each as the layout string that says the same.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/DefaultSplit.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lf {

/// "Et*7|t*8|t*7L": embedding first, head and loss last. layersOfStage is not empty; entries are at least 0.
std::string layoutOf(const std::vector<int64_t> &layersOfStage);

/// The layout when none is stated: equal parts. One chunk: as layoutOf; several: Megatron's order of chunks. Throws
/// lf::Error (exit 2) when several chunks do not divide.
std::string evenLayout(int64_t layers, int64_t pp, int64_t vpp);

/// The layout with `depths` MTP layers before its loss, as Megatron places them when no layout is stated.
std::string withMtp(int64_t depths, std::string layout);

/// A layout of equal work when layers do not divide: the embedding, the head and `mtp` depths count as one layer each, so
/// that the first and the last stage get fewer. Empty when pp > layers + 2 (stages would be left without work).
std::string proposeLayout(int64_t layers, int64_t pp, int64_t mtp = 0);

/// What the four flags for uneven splits ask for.
struct UnevenSplit {
  std::optional<int64_t> first, last;   ///< --decoder-first/last-pipeline-num-layers
  bool embedding = false, loss = false; ///< --account-for-embedding/loss-in-pipeline-split
  bool asked() const { return first || last || embedding || loss; }
};

/// The flags from which the stages follow when no layout is stated.
struct SplitFlags {
  UnevenSplit uneven;
  int64_t layersPerStage = 0; ///< --num-layers-per-virtual-pipeline-stage; 0: not given
};

/// The question that the flags put; its chunks are `vpp`.
SplitRequest splitRequest(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &);

/// The layout that the flags for uneven splits mean, by Megatron's rules. Throws lf::Error (exit 2) with the arithmetic
/// when it leaves layers over.
std::string unevenLayout(const SplitRequest &);
std::string unevenLayout(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &);

} // namespace lf
