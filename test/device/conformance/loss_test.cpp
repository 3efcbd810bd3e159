// loss_test.cpp - cross entropy on shards of the vocabulary.
#include "support.h"

#include <algorithm>

using namespace lf::test;

namespace {

/// `shards` shards of v columns of which `valid` count.
template <class T> void check(Rank &c, int64_t rows, int64_t v, int64_t shards, int64_t valid, int64_t shift) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(shards) + " x " + std::to_string(v));
  const Values logits = random_values<T>(rows * v * shards, 8.0), g = random_values(rows);
  Ids labels = random_ids(rows, static_cast<uint32_t>(valid));
  labels[0] = -1;
  labels[1] = static_cast<int32_t>(valid) - 1;
  auto logit = [&](int64_t i, int64_t j) { return logits[at((j / v * rows + i) * v + j % v)]; };
  Values top(at(rows), -1e300), sum(at(rows), 0.0), nll(at(rows), 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < valid; ++j)
      top[at(i)] = std::max(top[at(i)], logit(i, j));
    for (int64_t j = 0; j < valid; ++j)
      sum[at(i)] += std::exp(logit(i, j) - top[at(i)]);
    if (labels[at(i)] >= 0)
      nll[at(i)] = std::log(sum[at(i)]) + top[at(i)] - logit(i, labels[at(i)]);
  }
  Ints ids(labels);
  Floats slope(g), m(top), z(sum);
  Values got_top(at(rows), -1e300), got_sum(at(rows), 0.0), target(at(rows), 0.0);
  for (int64_t shard = 0; shard < shards; ++shard) {
    const int64_t offset = shard * v, first = shard * rows * v;
    Values mine(logits.begin() + first, logits.begin() + first + rows * v);
    for (int64_t i = 0; i < rows; ++i) // padding may hold anything
      for (int64_t j = std::max<int64_t>(0, valid - offset); j < v; ++j)
        mine[at(i * v + j)] = std::numeric_limits<double>::quiet_NaN();
    Reals<T> l(mine, shift);
    Poisoned<float> max(rows), exp(rows), again(rows), picked(rows);
    lf_row_max(c, "t", l.data(), max.data(), rows, v, offset, valid);
    lf_sum_exp(c, "t", l.data(), m.data(), exp.data(), rows, v, offset, valid);
    lf_sum_exp(c, "t", l.data(), m.data(), again.data(), rows, v, offset, valid);
    lf_pick(c, "t", l.data(), ids.data(), picked.data(), rows, v, offset);
    expect_same("sum_exp", exp, again);
    const Values a = values_of(max), b = values_of(exp), p = values_of(picked);
    Values gradient(at(rows * v), 0.0);
    for (int64_t i = 0; i < rows; ++i) {
      got_top[at(i)] = std::max(got_top[at(i)], a[at(i)]);
      got_sum[at(i)] += b[at(i)];
      target[at(i)] += p[at(i)];
      for (int64_t j = 0; j < v && offset + j < valid && labels[at(i)] >= 0; ++j)
        gradient[at(i * v + j)] = g[at(i)] * (std::exp(logit(i, offset + j) - top[at(i)]) / sum[at(i)] -
                                              (labels[at(i)] == offset + j ? 1.0 : 0.0));
    }
    Poisoned<T> dl(rows * v, shift);
    lf_cross_entropy_grad(c, "t", l.data(), m.data(), z.data(), ids.data(), slope.data(), dl.data(), rows, v, offset,
                          valid);
    expect_close("cross_entropy_grad", dl, gradient, 2e-6);
    lf_cross_entropy_grad(c, "t", l.data(), m.data(), z.data(), ids.data(), slope.data(), l.data(), rows, v, offset,
                          valid);
    expect_close("cross_entropy_grad in place", l, gradient, 2e-6);
  }
  Floats t(target), tops(got_top), sums(got_sum);
  Poisoned<float> loss(rows);
  expect_close("row_max", tops, top, 0.0);
  expect_close("sum_exp", sums, sum, sizeof(T) == 2 ? 1e-5 : 2e-6);
  lf_nll(c, "t", sums.data(), tops.data(), t.data(), ids.data(), loss.data(), rows);
  expect_close("nll", loss, nll, sizeof(T) == 2 ? 1e-5 : 2e-6);
}

} // namespace

TEST(CrossEntropy, ShardsOfAPaddedVocabulary) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    check<T>(c, 30, 300, 3, 750, 0); // the last shard: 150 columns, 150 of padding
    check<T>(c, 30, 304, 3, 755, 0); // packs, and a bound inside one
    check<T>(c, 9, 304, 2, 600, 1);
    check<T>(c, 3, 5, 1, 5, 0);
  });
}

TEST(CrossEntropy, LargeVocabulary) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    check<T>(c, 20, 16032, 2, 32001, 0);
    check<T>(c, 4, 128256, 1, 128256, 0);
  });
}

TEST(CrossEntropy, AShardOfPaddingAlone) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (int64_t v : {4, 16}) {
      Reals<T> l(random_values<T>(2 * v));
      Poisoned<float> m(2), z(2);
      lf_row_max(c, "t", l.data(), m.data(), 2, v, 100, 90);
      expect_close("row_max", m, {-1e30, -1e30}, 1e-6);
      lf_sum_exp(c, "t", l.data(), m.data(), z.data(), 2, v, 100, 90);
      expect_close("sum_exp", z, {0.0, 0.0}, 0.0);
    }
  });
}
