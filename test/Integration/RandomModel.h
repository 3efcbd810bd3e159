//===- RandomModel.h - A small model of any family --------------------------===//
//
// Sizes are odd wherever a family allows it: a size that nothing divides shows an index that is off by a power of two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Dice.h"
#include "lf/Support/Json.h"

namespace lf::test {

struct RandomModel {
  Json config;
  int64_t layers = 0;
  int64_t tp = 1; ///< every divisor of it is a legal tensor-parallel size
  // The batch, which plans of one model share.
  int64_t seqLength = 0;
  int64_t columns = 0; ///< samples of one micro-batch of all data-parallel ranks
  int64_t microBatches = 0;
  int64_t vocabMultiple = 1;
  double dropout = 0; ///< for --hidden-dropout; gpt2 states its own
  int64_t mtp = 0;    ///< depths, for --mtp-num-layers
  double mtpFactor = 0;
};

RandomModel randomModel(Dice &);

} // namespace lf::test
