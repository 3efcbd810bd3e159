//===- LearningRateTest.cpp - Rates of the first, middle and last steps ---===//
//
// Expected values were worked out by hand from the formulas in docs/running.md.
//
//===----------------------------------------------------------------------===//
#include "rank.h"
#include "train/learning_rate.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace lf::rt;

namespace {

struct Row {
  const char *what;
  std::vector<std::string> flags;
  std::vector<std::pair<int64_t, double>> rates; ///< step (0-based) -> rate
};

// Ten steps of four samples; lr 1, min 0.1 unless a row says otherwise.
const Row table[] = {
    {"constant", {"--lr-decay-style", "constant"}, {{0, 1.0}, {9, 1.0}, {100, 1.0}}},
    {"linear is the default", {}, {{0, 1.0}, {5, 0.55}, {10, 0.1}, {11, 0.1}}},
    {"cosine", {"--lr-decay-style", "cosine"}, {{0, 1.0}, {5, 0.55}, {10, 0.1}}},
    {"warm-up from its initial rate, then linear",
     {"--lr-warmup-iters", "2", "--lr-warmup-init", "0.2"},
     {{0, 0.2}, {1, 0.6}, {2, 1.0}, {6, 0.55}, {10, 0.1}}},
    {"no warm-up of length 0", {"--lr-warmup-iters", "0", "--lr-decay-style", "constant"}, {{0, 1.0}}},
    {"warm-up as a fraction", {"--lr-warmup-fraction", "0.4"}, {{0, 0.0}, {2, 0.5}, {4, 1.0}, {7, 0.55}}},
    {"decay length", {"--lr-decay-iters", "4"}, {{0, 1.0}, {2, 0.55}, {4, 0.1}, {5, 0.1}}},
    {"inverse square root",
     {"--lr-decay-style", "inverse-square-root", "--lr-warmup-iters", "1"},
     {{0, 0.0}, {1, 1.0}, {4, 0.5}, {9, 1.0 / 3.0}}},
    {"inverse square root without warm-up",
     {"--lr-decay-style", "inverse-square-root"},
     {{0, 1.0}, {1, 0.5}, {4, 0.25}}},
    {"WSD exponential",
     {"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "4"},
     {{0, 1.0}, {6, 1.0}, {8, 0.1 + 0.9 * (std::sqrt(2.0) - 1.0)}, {10, 0.1}}},
    {"WSD linear",
     {"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "4", "--lr-wsd-decay-style", "linear"},
     {{6, 1.0}, {7, 0.775}, {10, 0.1}}},
    {"WSD cosine",
     {"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "4", "--lr-wsd-decay-style", "cosine"},
     {{6, 1.0}, {8, 0.55}, {10, 0.1}}},
    {"WSD minus_sqrt",
     {"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "4", "--lr-wsd-decay-style", "minus_sqrt"},
     {{6, 1.0}, {7, 0.55}, {10, 0.1}}},
    {"lengths in samples", {"--lr-warmup-samples", "8"}, {{0, 0.0}, {1, 0.5}, {2, 1.0}, {6, 0.55}}},
};

Options parse(std::vector<std::string> flags) {
  std::vector<std::string> all = {"--data-path", "x", "--lr", "1", "--min-lr", "0.1"};
  all.insert(all.end(), flags.begin(), flags.end());
  return parse_options(all);
}

TEST(LearningRate, Table) {
  for (const Row &row : table) {
    LearningRate rate(parse(row.flags), 4, 40);
    for (auto [step, expected] : row.rates)
      EXPECT_NEAR(rate.at(step * 4), expected, 1e-12) << row.what << ", step " << step;
  }
}

TEST(LearningRate, RefusesLengthsThatDoNotFit) {
  EXPECT_THROW(LearningRate(parse({"--lr-warmup-iters", "10"}), 4, 40), Failure);
  EXPECT_NO_THROW(LearningRate(parse({"--lr-warmup-iters", "9"}), 4, 40));
  EXPECT_THROW(LearningRate(parse({"--lr-decay-style", "WSD", "--lr-wsd-decay-iters", "11"}), 4, 40), Failure);
}

} // namespace
