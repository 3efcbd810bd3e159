//===- blend.h - Which source each sample of a blend is drawn from --------===//
//
// Sample n goes to the source that lags its share most, so that any prefix of the run has the weights to within one
// sample. A pure function of n; marks taken every few thousand samples make going back cheap.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lf::rt {

class Blend {
public:
  /// Weights above 0, of any sum.
  explicit Blend(std::vector<double> weights);

  struct Choice {
    size_t source;
    int64_t index; ///< how many earlier samples came from this source
  };
  Choice at(int64_t n);

private:
  static constexpr int64_t interval = 4096;
  Choice advance();
  std::vector<double> weights;
  std::vector<int64_t> counts; ///< samples drawn from each source before `next`
  int64_t next = 0;
  std::vector<std::vector<int64_t>> marks; ///< counts at multiples of interval
};

} // namespace lf::rt
