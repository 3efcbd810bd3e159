//===- Shrink.h - A small model that a plan splits in the same way ----------===//
//
// Verification in float64 on a CPU needs a model of a few thousand parameters; which dims a plan splits, repeats or
// pads, and which kinds of layers stand on which stage, must stay as they are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Plan/ParallelPlan.h"

namespace lf {

struct Shrunk {
  ModelConfig model;
  ParallelPlan plan;   ///< the user's, at the small shapes, resolved
  ParallelPlan single; ///< one rank, the same global batch, micro-batches as large as those of all data-parallel ranks
  std::string says;    ///< what is used instead of what, in a line
};

/// tp, pp, sequence parallelism, schedule and the form of the layout stay. At most two layers a stage (one of each kind
/// where there are two), heads of 8 channels, a sequence of a few tokens a rank; dp is lowered so that at most 64 ranks
/// run. Throws lf::Error (exit 2) when the small model is refused by the plan's rules.
Shrunk shrink(const ModelConfig &, const ParallelPlan &);

} // namespace lf
