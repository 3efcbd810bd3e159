//===- blend.cpp - Which source each sample of a blend is drawn from ------===//
//
// See blend.h.
//
//===----------------------------------------------------------------------===//
#include "blend.h"

#include <algorithm>

namespace lf::rt {

Blend::Blend(std::vector<double> shares) : weights(std::move(shares)), counts(weights.size(), 0) {
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  for (double &weight : weights)
    weight /= sum;
}

Blend::Choice Blend::advance() {
  if (next % interval == 0 && next / interval == static_cast<int64_t>(marks.size()))
    marks.push_back(counts);
  size_t choice = 0;
  double most = -1.0;
  for (size_t s = 0; s < weights.size(); ++s)
    if (double lag = weights[s] * static_cast<double>(next + 1) - static_cast<double>(counts[s]); lag > most) {
      most = lag;
      choice = s;
    }
  ++next;
  return {choice, counts[choice]++};
}

Blend::Choice Blend::at(int64_t n) {
  if (weights.size() == 1)
    return {0, n};
  int64_t mark = std::min<int64_t>(n / interval, static_cast<int64_t>(marks.size()) - 1);
  if (n < next || (mark >= 0 && mark * interval > next)) {
    counts = marks[static_cast<size_t>(mark)];
    next = mark * interval;
  }
  while (next < n)
    advance();
  return advance();
}

} // namespace lf::rt
