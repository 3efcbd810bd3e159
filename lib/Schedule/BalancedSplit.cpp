//===- BalancedSplit.cpp - Stages of equal work ---------------------------===//
//
// See BalancedSplit.h. Two tables over (stage, items so far): the least maximum, then the least sum of squares under it.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/BalancedSplit.h"

#include "lf/Schedule/LayoutString.h"
#include "lf/Support/Error.h"

#include <algorithm>
#include <limits>

namespace lf {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of (stages so far, items so far).
class Table {
public:
  Table(int64_t stages, int64_t items)
      : items(items), values(static_cast<size_t>((stages + 1) * (items + 1)), infinity) {}
  double &at(int64_t stage, int64_t item) { return values[static_cast<size_t>(stage * (items + 1) + item)]; }

private:
  int64_t items;
  std::vector<double> values;
};

} // namespace

std::vector<std::string> balancedSplit(const std::vector<ChainItem> &chain, int64_t stages, int64_t chunks) {
  int64_t items = static_cast<int64_t>(chain.size());
  constexpr int64_t limit = 20'000'000; // of table entries: the tables are filled in seconds
  if (stages < 1 || items < 2 || stages > limit || items > limit || (stages + 1) * (items + 1) > limit)
    throw usage("--pipeline-model-parallel-layout auto: expected stages x items of the chain from 1 to " +
                std::to_string(limit) + ", got " + std::to_string(stages) + " x " + std::to_string(items) +
                "; write the layout");
  std::vector<double> sum(chain.size() + 1, 0);
  for (size_t i = 0; i < chain.size(); ++i)
    sum[i + 1] = sum[i] + chain[i].cost;
  auto cost = [&](int64_t from, int64_t to) { return sum[static_cast<size_t>(to)] - sum[static_cast<size_t>(from)]; };
  auto firstMtp = std::find_if(chain.begin(), chain.end(), [](const ChainItem &item) { return item.symbol == 'm'; });
  int64_t mtp = firstMtp - chain.begin();
  // The embedding starts the first stage and the loss ends the last; a cut among the m items is none, and only the last
  // chunk of a rank has them.
  auto legal = [&](int64_t cut, int64_t stage) {
    if (stage == stages)
      return cut == items;
    if (cut < 1 || cut > items - 1 || (stage <= stages - stages / chunks && cut > mtp))
      return false;
    return chain[static_cast<size_t>(cut)].symbol != 'm' || chain[static_cast<size_t>(cut - 1)].symbol != 'm';
  };

  Table worst(stages, items);
  worst.at(0, 0) = 0;
  for (int64_t s = 1; s <= stages; ++s)
    for (int64_t to = 0; to <= items; ++to)
      if (legal(to, s))
        for (int64_t from = to; from >= 0; --from) {
          double stage = cost(from, to);
          if (stage >= worst.at(s, to))
            break; // longer stages cost more
          worst.at(s, to) = std::min(worst.at(s, to), std::max(worst.at(s - 1, from), stage));
        }
  double bound = worst.at(stages, items) * (1 + 1e-12);

  Table squares(stages, items), cuts(stages, items);
  squares.at(0, 0) = 0;
  for (int64_t s = 1; s <= stages; ++s)
    for (int64_t to = 0; to <= items; ++to)
      if (legal(to, s))
        for (int64_t from = to; from >= 0 && cost(from, to) <= bound; --from) {
          double total = squares.at(s - 1, from) + cost(from, to) * cost(from, to);
          if (total < squares.at(s, to)) {
            squares.at(s, to) = total;
            cuts.at(s, to) = static_cast<double>(from);
          }
        }
  std::vector<std::string> result(static_cast<size_t>(stages));
  for (int64_t s = stages, to = items; s > 0; --s) {
    int64_t from = static_cast<int64_t>(cuts.at(s, to));
    for (int64_t i = from; i < to; ++i)
      result[static_cast<size_t>(s - 1)] += chain[static_cast<size_t>(i)].symbol;
    to = from;
  }
  return result;
}

} // namespace lf
