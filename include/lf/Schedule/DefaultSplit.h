//===- DefaultSplit.h - The stages when no layout is given ----------------===//
//
// Megatron's split of decoder layers over pipeline ranks and chunks: even, with slots kept for embedding and loss, or
// with the first and last rank given. The result is a layout, as if the user had written it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/StageLayout.h"

namespace lf {

struct SplitRequest {
  int64_t pp = 1, vpp = 1;
  int64_t layers = 0, mtp = 0;
  int64_t firstLayers = 0, lastLayers = 0; ///< --decoder-first/last-pipeline-num-layers; 0: not given
  bool countEmbedding = false;             ///< --account-for-embedding-in-pipeline-split
  bool countLoss = false;                  ///< --account-for-loss-in-pipeline-split
  PlacementKind placement = PlacementKind::roundRobin;
  std::string chunksFrom = "\"--num-virtual-stages-per-pipeline-rank\""; ///< what made vpp; named in messages
  int64_t fewestChunks = 1, mostChunks = layoutLimit; ///< that a layout may have in which chunksFromLayersPerStage proposes
};

/// The symbols of each stage in stage order. MTP layers stand before the loss. Throws lf::Error (exit 2) with the
/// division that does not come out, and a layout that would, in place of the flags that split.
std::vector<std::string> defaultSplit(const SplitRequest &);

/// Chunks on a rank that --num-layers-per-virtual-pipeline-stage `layersPerStage` gives: (slots / pp) / layersPerStage.
/// Throws lf::Error (exit 2) if it does not divide, or if firstLayers or lastLayers is given. vpp is not read.
int64_t chunksFromLayersPerStage(const SplitRequest &, int64_t layersPerStage);

/// Layers of each of `stages` stages (at least 1) in a layout of equal work, as far as may be: the embedding counts as a
/// layer of the first, head and `mtp` as layers of the last.
std::vector<int64_t> balancedLayers(int64_t layers, int64_t mtp, int64_t stages);

} // namespace lf
