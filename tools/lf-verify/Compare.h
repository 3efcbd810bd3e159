//===- Compare.h - Are two runs equal? --------------------------------------===//
//
// Losses, gradients of the first step and weights after the last, each against its own size.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Tensors.h"

namespace lf {

/// What one run left behind.
struct RunResult {
  std::vector<double> loss, gradNorm; ///< of each step
  std::vector<double> mtpLoss;        ///< of each step, then depth; empty without multi-token prediction
  Tensors gradients, weights;
};

struct Difference {
  std::string what;      ///< "loss", "gradient", "weight"
  std::string name;      ///< of the tensor, or "step 2"
  double size = 0;       ///< norm in the single-rank run
  double difference = 0; ///< norm of the difference; infinite when a value or a tensor is missing or not finite
  double relative = 0;   ///< difference / max(size, a thousandth of the largest norm of its kind)
};

/// All comparisons, in the order of the model: embedding, layers by number, head. A tensor whose norm is below a
/// thousandth of the largest is measured against that thousandth: some gradients are zero but for rounding.
std::vector<Difference> compareRuns(const RunResult &plan, const RunResult &single);

} // namespace lf
