// cross_entropy_test.cpp - the pieces of the loss, whole and in shards of the vocabulary, and their gradient.
#include "support.h"

#include <algorithm>

using namespace lf::test;

template <class T> class CrossEntropy : public testing::Test {};
TYPED_TEST_SUITE(CrossEntropy, Reals);

namespace {

constexpr int64_t rows = 7, vocabulary = 48, valid = 41;
size_t at(int64_t i) { return static_cast<size_t>(i); }

struct Input {
  Values logits = random_values(rows * vocabulary, 1, 8.0), g = random_values(rows, 2);
  Ids labels = random_ids(rows, valid, 3);
  Input() {
    labels[2] = -100;
    labels[5] = valid - 1;
    // Padding holds what would win every maximum, or spoil every sum.
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = valid; j < vocabulary; ++j)
        logits[at(i * vocabulary + j)] = j % 2 ? 1e6 : std::nan("");
  }
};

struct Result {
  Values nll, gradient;
};

Result reference(const Input &n) {
  Result r{Values(rows, 0.0), Values(n.logits.size(), 0.0)};
  for (int64_t i = 0; i < rows; ++i) {
    if (n.labels[at(i)] < 0)
      continue;
    const double *l = n.logits.data() + i * vocabulary;
    const double top = *std::max_element(l, l + valid);
    double sum = 0.0;
    for (int64_t j = 0; j < valid; ++j)
      sum += std::exp(l[j] - top);
    r.nll[at(i)] = std::log(sum) + top - l[n.labels[at(i)]];
    for (int64_t j = 0; j < valid; ++j)
      r.gradient[at(i * vocabulary + j)] =
          (std::exp(l[j] - top) / sum - (j == n.labels[at(i)] ? 1.0 : 0.0)) * n.g[at(i)];
  }
  return r;
}

/// What the ranks of a group do together: each has `v` columns; maxima and sums are over the group.
template <class T> Result sharded(const Input &n, int64_t v, bool in_place) {
  Rank<T> c;
  const int64_t shards = vocabulary / v;
  std::vector<std::vector<T>> l(at(shards));
  std::vector<T> m(rows, T(-3e38)), z(rows, T(0)), t(rows, T(0));
  for (int64_t k = 0; k < shards; ++k) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < v; ++j)
        l[at(k)].push_back(static_cast<T>(n.logits[at(i * vocabulary + k * v + j)]));
    auto part = poisoned<T>(rows);
    lf_row_max(c, "t", l[at(k)].data(), part.data(), rows, v, k * v, valid);
    for (size_t i = 0; i < m.size(); ++i) {
      EXPECT_TRUE(std::isfinite(part[i]));
      m[i] = std::max(m[i], part[i]);
    }
  }
  for (int64_t k = 0; k < shards; ++k) {
    auto sum = poisoned<T>(rows), picked = poisoned<T>(rows);
    lf_sum_exp(c, "t", l[at(k)].data(), m.data(), sum.data(), rows, v, k * v, valid);
    lf_pick(c, "t", l[at(k)].data(), n.labels.data(), picked.data(), rows, v, k * v);
    for (size_t i = 0; i < m.size(); ++i) {
      z[i] += sum[i];
      t[i] += picked[i];
    }
  }
  auto nll = poisoned<T>(rows);
  lf_nll(c, "t", z.data(), m.data(), t.data(), n.labels.data(), nll.data(), rows);
  Result r{values(nll), Values(n.logits.size(), std::nan(""))};
  for (int64_t k = 0; k < shards; ++k) {
    auto dl = in_place ? l[at(k)] : poisoned<T>(rows * v);
    lf_cross_entropy_grad(c, "t", in_place ? dl.data() : l[at(k)].data(), m.data(), z.data(), n.labels.data(),
                          as<T>(n.g).data(), dl.data(), rows, v, k * v, valid);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < v; ++j)
        r.gradient[at(i * vocabulary + k * v + j)] = dl[at(i * v + j)];
  }
  return r;
}

} // namespace

// One shard, three, and sixteen, of which the last two hold padding alone.
TYPED_TEST(CrossEntropy, ShardsCombineToTheWhole) {
  using T = TypeParam;
  const Input n;
  const Result want = reference(n);
  for (int64_t v : {vocabulary, vocabulary / 3, vocabulary / 16})
    for (bool in_place : {false, true}) {
      const Result got = sharded<T>(n, v, in_place);
      expect_close("nll", as<T>(got.nll), want.nll, sizeof(T) == 4 ? 1e-6 : 1e-13);
      expect_close("gradient", as<T>(got.gradient), want.gradient, sizeof(T) == 4 ? 1e-6 : 1e-13);
    }
}

TYPED_TEST(CrossEntropy, GradientAgainstDifferences) {
  Input n;
  for (double &e : n.logits)
    e = std::isfinite(e) && e < 1e3 ? e : 0.0;
  const Values gradient = sharded<double>(n, vocabulary, false).gradient;
  expect_gradient("dl", n.logits, gradient, [&] { return dot(sharded<double>(n, vocabulary, false).nll, n.g); });
}
