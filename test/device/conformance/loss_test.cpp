// loss_test.cpp - embeddings, cross entropy on shards of the vocabulary, optimizer, sums of a step.
#include "kernels/kernels.h"
#include "support.h"

#include <algorithm>

using namespace lf::test;

TEST(Embedding, RowsOfAShardAndTheirGradient) {
  Rank &c = shared_rank();
  const int64_t tokens = 1000, rows = 20, h = 70, offset = 5;
  const Ids ids = random_ids(tokens, 30);
  const Values table = random_values(rows * h), dy = random_values(tokens * h);
  Values y(at(tokens * h), 0.0);
  std::vector<float> gradient(at(rows * h), 0.0f);
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t e = 0; e < h; ++e)
      if (const int64_t row = ids[at(i)] - offset; row >= 0 && row < rows) {
        y[at(i * h + e)] = table[at(row * h + e)];
        gradient[at(row * h + e)] += static_cast<float>(dy[at(i * h + e)]);
      }
  Ints keys(ids);
  Floats from(table), slope(dy);
  Poisoned to(tokens * h), to_table(rows * h);
  lf_embedding(c, "t", keys.data(), from.data(), to.data(), tokens, rows, h, offset);
  lf_embedding_grad(c, "t", keys.data(), slope.data(), to_table.data(), tokens, rows, h, offset, 0);
  expect_close("embedding", to, y, 0.0);
  expect_close("embedding_grad in the order of tokens", to_table, Values(gradient.begin(), gradient.end()), 0.0);
}

TEST(Embedding, Positions) {
  Rank &c = shared_rank();
  const int64_t s = 40, b = 3, h = 50, rows = 64;
  const Ids pos = iota(s, 7);
  const Values x = random_values(s * b * h), table = random_values(rows * h), dy = random_values(s * b * h);
  Values y(x.size()), gradient(at(rows * h), 0.0);
  for (int64_t i = 0; i < s * b * h; ++i) {
    const size_t at_table = at(pos[at(i / (b * h))] * h + i % h);
    y[at(i)] = x[at(i)] + table[at_table];
    gradient[at_table] += dy[at(i)];
  }
  Ints keys(pos);
  Floats from(x), rows_of(table), slope(dy);
  Poisoned to(s * b * h), to_table(rows * h);
  lf::rt::zero_step_sums(c.rank);
  lf_position_embedding(c, "t", from.data(), keys.data(), rows_of.data(), to.data(), s, b, h);
  lf_position_embedding_grad(c, "t", keys.data(), slope.data(), to_table.data(), s, b, h, rows);
  expect_close("position_embedding", to, y, 1e-6);
  expect_close("position_embedding_grad", to_table, gradient, 1e-6);
  lf::rt::read_step_sums(c.rank);
  lf_position_embedding_grad(c, "t", keys.data(), slope.data(), to_table.data(), s, b, h, 20);
  try {
    lf::rt::read_step_sums(c.rank);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &failure) {
    EXPECT_EQ(failure.code, 4);
    EXPECT_NE(failure.message.find("expected positions below 20, the rows of the table, got "), std::string::npos);
  }
}

TEST(CrossEntropy, ShardsOfAPaddedVocabulary) {
  Rank &c = shared_rank();
  const int64_t rows = 30, v = 300, shards = 3, valid = 750; // the last shard: 150 columns, 150 of padding
  Values logits = random_values(rows * v * shards, 8.0), g = random_values(rows);
  Ids labels = random_ids(rows, 750);
  labels[3] = -1;
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
    const Values mine(logits.begin() + first, logits.begin() + first + rows * v);
    Floats l(mine);
    Poisoned max(rows), exp(rows), picked(rows);
    lf_row_max(c, "t", l.data(), max.data(), rows, v, offset, valid);
    lf_sum_exp(c, "t", l.data(), m.data(), exp.data(), rows, v, offset, valid);
    lf_pick(c, "t", l.data(), ids.data(), picked.data(), rows, v, offset);
    const std::vector<float> a = max.get(), b = exp.get(), p = picked.get();
    Values gradient(at(rows * v), 0.0);
    for (int64_t i = 0; i < rows; ++i) {
      got_top[at(i)] = std::max<double>(got_top[at(i)], a[at(i)]);
      got_sum[at(i)] += b[at(i)];
      target[at(i)] += p[at(i)];
      for (int64_t j = 0; j < v && offset + j < valid && labels[at(i)] >= 0; ++j)
        gradient[at(i * v + j)] = g[at(i)] * (std::exp(logit(i, offset + j) - top[at(i)]) / sum[at(i)] -
                                              (labels[at(i)] == offset + j ? 1.0 : 0.0));
    }
    Poisoned dl(rows * v);
    lf_cross_entropy_grad(c, "t", l.data(), m.data(), z.data(), ids.data(), slope.data(), dl.data(), rows, v, offset,
                          valid);
    expect_close("cross_entropy_grad", dl, gradient, 2e-6);
    lf_cross_entropy_grad(c, "t", l.data(), m.data(), z.data(), ids.data(), slope.data(), l.data(), rows, v, offset,
                          valid);
    expect_close("cross_entropy_grad in place", l, gradient, 2e-6);
  }
  Floats t(target), tops(got_top), sums(got_sum);
  Poisoned loss(rows);
  expect_close("row_max", tops, top, 0.0);
  expect_close("sum_exp", sums, sum, 2e-6);
  lf_nll(c, "t", sums.data(), tops.data(), t.data(), ids.data(), loss.data(), rows);
  expect_close("nll", loss, nll, 2e-6);
}

TEST(CrossEntropy, AShardOfPaddingAlone) {
  Rank &c = shared_rank();
  Floats l(random_values(8));
  Poisoned m(2), z(2);
  lf_row_max(c, "t", l.data(), m.data(), 2, 4, 100, 90);
  expect_close("row_max", m, {-1e30, -1e30}, 1e-6);
  lf_sum_exp(c, "t", l.data(), m.data(), z.data(), 2, 4, 100, 90);
  expect_close("sum_exp", z, {0.0, 0.0}, 0.0);
}

TEST(Optimizer, AdamwMovesAsPyTorch) {
  Rank &c = shared_rank();
  const int64_t n = 5000;
  Values p = random_values(n), g = random_values(n), m = random_values(n, 0.1), v = random_values(n, 0.1);
  for (double &e : v)
    e = std::fabs(e);
  Floats fp(p), fg(g), fm(m), fv(v);
  lf::rt::AdamwParameters a;
  a.lr = 0.01;
  a.beta2 = 0.95;
  a.weight_decay = 0.1;
  a.grad_scale = 0.5;
  a.step = 3;
  lf::rt::adamw(c, fp.data(), nullptr, fg.data(), fm.data(), fv.data(), n, a);
  for (int64_t i = 0; i < n; ++i) {
    const double grad = g[at(i)] * a.grad_scale;
    m[at(i)] = a.beta1 * m[at(i)] + (1 - a.beta1) * grad;
    v[at(i)] = a.beta2 * v[at(i)] + (1 - a.beta2) * grad * grad;
    p[at(i)] *= 1 - a.lr * a.weight_decay;
    p[at(i)] -=
        a.lr / (1 - std::pow(a.beta1, 3)) * m[at(i)] / (std::sqrt(v[at(i)] / (1 - std::pow(a.beta2, 3))) + a.eps);
  }
  expect_close("p", fp, p, 2e-6);
  expect_close("m", fm, m, 1e-6);
  expect_close("v", fv, v, 1e-6);
}

TEST(Step, SumsStayOnTheDeviceUntilTheyAreRead) {
  Rank &c = shared_rank();
  double squares = 0.0;
  lf::rt::zero_step_sums(c.rank);
  Floats loss(Values{2.5, 4.0});
  lf::rt::add_loss(c.rank, loss.data(), loss.data() + 1);
  lf::rt::add_loss(c.rank, loss.data() + 1, loss.data());
  for (int64_t n : {1, 4096, 4097, 1000000}) {
    const Values x = random_values(n);
    double sum = 0.0;
    for (double e : x)
      sum += e * e;
    squares += sum;
    Floats from(x);
    lf::rt::add_squares(c.rank, from.data(), n);
    const double alone = lf::rt::square_sum(c, from.data(), n);
    EXPECT_NEAR(alone, sum, 1e-12 * (1 + sum));
    EXPECT_EQ(alone, lf::rt::square_sum(c, from.data(), n)) << "the same bits in every run";
  }
  lf::rt::read_step_sums(c.rank);
  EXPECT_EQ(c.rank.step.loss_sum, 6.5);
  EXPECT_EQ(c.rank.step.count, 6.5);
  EXPECT_NEAR(c.rank.step.square_sum, squares, 1e-12 * squares);
}

// Larger than the pinned slots, and not a multiple of them.
TEST(Step, UploadsInPieces) {
  Rank &c = shared_rank();
  const int64_t n = 3000001;
  const Values x = random_values(n);
  const std::vector<float> host(x.begin(), x.end());
  Poisoned to(n);
  lf::rt::copy_to_device(c.rank, to.data(), host.data(), n * 4);
  std::vector<float> back(at(n));
  lf::rt::copy_to_host(c.rank, back.data(), to.data(), n * 4);
  EXPECT_EQ(host, back);
}
