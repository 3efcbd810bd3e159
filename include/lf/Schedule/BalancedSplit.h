//===- BalancedSplit.h - Stages of equal work -----------------------------===//
//
// The layout that --pipeline-model-parallel-layout auto stands for: the chain cut where the slowest stage is fastest.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lf {

/// One item of the chain and what it costs, in any one unit.
struct ChainItem {
  char symbol = 't'; ///< E, t, m or L
  double cost = 0;   ///< at least 0
};

/// Cuts `chain` (E first, L last) into `stages` stages in its order, so that the largest sum of costs is the least
/// possible and, among those, the sum of squares is. m items are kept together, in one of the last `stages / chunks`
/// stages (the last chunks of the ranks). Throws lf::Error (exit 2) for more than layoutLimit stages or items. The result
/// is a layout, as if the user had written it.
std::vector<std::string> balancedSplit(const std::vector<ChainItem> &chain, int64_t stages, int64_t chunks = 1);

} // namespace lf
