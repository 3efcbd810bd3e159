//===- learning_rate.h - The rate of each step ----------------------------===//
//
// A schedule is a pure function of the samples consumed before a step, so that a resumed run needs nothing stored.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "options.h"

namespace lf::rt {

class LearningRate {
public:
  /// Lengths given in steps are multiplied by `global_batch`; the decay length is the whole run (`total_samples`)
  /// unless a flag says otherwise. Throws Failure 2 when the warm-up is not shorter than the decay, or WSD's longer
  /// than it.
  LearningRate(const Options &options, int64_t global_batch, int64_t total_samples);

  /// The rate of the step before which `consumed` samples had been seen.
  double at(int64_t consumed) const;

private:
  double lr, min, init;
  double warmup, decay, wsd; ///< samples
  DecayStyle style;
  WsdStyle wsd_style;
};

} // namespace lf::rt
