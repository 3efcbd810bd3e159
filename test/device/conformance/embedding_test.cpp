// embedding_test.cpp - token and position tables, and their gradients.
#include "kernels/cuda/embedding_grad.h"
#include "support.h"

using namespace lf::test;

namespace {

/// In the order of tokens, in float: what fp32 programs get bit for bit.
template <class T>
void check(Rank &c, const Ids &ids, int64_t rows, int64_t h, int64_t offset, int64_t shift, double terms) {
  const int64_t tokens = static_cast<int64_t>(ids.size());
  SCOPED_TRACE(std::to_string(tokens) + " tokens, " + std::to_string(rows) + " x " + std::to_string(h));
  const Values table = random_values<T>(rows * h), dy = random_values<T>(tokens * h);
  Values y(at(tokens * h), 0.0), exact(at(rows * h), 0.0);
  std::vector<float> in_order(at(rows * h), 0.0f);
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t e = 0; e < h; ++e)
      if (const int64_t row = ids[at(i)] - offset; row >= 0 && row < rows) {
        y[at(i * h + e)] = table[at(row * h + e)];
        exact[at(row * h + e)] += dy[at(i * h + e)];
        in_order[at(row * h + e)] += static_cast<float>(dy[at(i * h + e)]);
      }
  Ints keys(ids);
  Reals<T> from(table, shift), slope(dy, shift);
  Poisoned<T> to(tokens * h, shift);
  Poisoned<float> gradient(rows * h), again(rows * h);
  lf_embedding(c, "t", keys.data(), from.data(), to.data(), tokens, rows, h, offset);
  lf_embedding_grad(c, "t", keys.data(), slope.data(), gradient.data(), tokens, rows, h, offset, 0);
  lf_embedding_grad(c, "t", keys.data(), slope.data(), again.data(), tokens, rows, h, offset, 0);
  expect_close("embedding", to, y, 0.0);
  expect_same("embedding_grad", gradient, again);
  if (sizeof(T) == 4)
    expect_close("embedding_grad in the order of tokens", gradient, Values(in_order.begin(), in_order.end()), 0.0);
  else
    expect_close("embedding_grad", gradient, exact, 1e-5, std::sqrt(terms));
  const Values old = random_values(rows * h), alone = values_of(gradient);
  Floats sum(old);
  lf_embedding_grad(c, "t", keys.data(), slope.data(), sum.data(), tokens, rows, h, offset, 1);
  Values want(old.size());
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = static_cast<float>(alone[i] + old[i]);
  expect_close("embedding_grad added", sum, want, 0.0);
}

} // namespace

TEST(Embedding, RowsOfAShardAndTheirGradient) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    check<T>(c, random_ids(1000, 30), 20, 70, 5, 0, 60.0);
    check<T>(c, random_ids(1000, 30), 20, 64, 5, 0, 60.0);
    check<T>(c, random_ids(1000, 30), 20, 64, 5, 1, 60.0);
    check<T>(c, random_ids(1, 3), 3, 8, 0, 0, 1.0);
    check<T>(c, random_ids(63, 2), 2, 8, 0, 0, 63.0);
  });
}

// One token fills two fifths of the batch, a second one lies outside the shard.
TEST(Embedding, LargeTableWithHeavyRepeats) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    Ids ids = random_ids(5000, 60000);
    for (size_t i = 0; i < ids.size(); ++i)
      if (i % 5 < 2)
        ids[i] = 777;
      else if (i % 7 == 0)
        ids[i] = 3;
    check<T>(c, ids, 4000, 256, 500, 0, 2000.0);
    check<T>(c, ids, 300, 33, 500, 0, 2000.0);
  });
}

TEST(Embedding, OneTokenAloneOrNone) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    check<T>(c, Ids(640, 12), 20, 24, 0, 0, 640.0);
    check<T>(c, Ids(640, 99), 20, 16, 0, 0, 1.0);
  });
}

// A vocabulary of 128256: rows that no token names are zero, the last row too.
TEST(Embedding, LargeVocabulary) {
  Rank &c = shared_rank(LF_BF16);
  Ids ids = random_ids(8192, 128256);
  ids[0] = 128255;
  ids[1] = 0;
  check<Bf16>(c, ids, 128256, 64, 0, 0, 8.0);
}

TEST(Embedding, ScratchIsStated) {
  shared_rank(LF_BF16);
  const int64_t tokens = 16384, rows = 128256, h = 2048;
  const int64_t bytes = lf::rt::embedding_grad_scratch(tokens, rows, h);
  EXPECT_GE(bytes, 16 * tokens + 4 * rows + tokens / 64 * h * 4);
  EXPECT_LE(bytes, 16 * tokens + 4 * rows + tokens / 64 * h * 4 + (int64_t(4) << 20));
}

TEST(Embedding, Positions) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (int64_t h : {50, 64}) {
      SCOPED_TRACE(h);
      const int64_t s = 200, b = 3, rows = 256;
      const Ids pos = iota(s, 7);
      const Values x = random_values<T>(s * b * h), table = random_values<T>(rows * h),
                   dy = random_values<T>(s * b * h);
      Values y(x.size()), gradient(at(rows * h), 0.0);
      for (int64_t i = 0; i < s * b * h; ++i) {
        const size_t at_table = at(pos[at(i / (b * h))] * h + i % h);
        y[at(i)] = x[at(i)] + table[at_table];
        gradient[at_table] += dy[at(i)];
      }
      Ints keys(pos);
      Reals<T> from(x), rows_of(table), slope(dy);
      Poisoned<T> to(s * b * h);
      Poisoned<float> to_table(rows * h);
      lf::rt::zero_step_sums(c.rank);
      lf_position_embedding(c, "t", from.data(), keys.data(), rows_of.data(), to.data(), s, b, h);
      lf_position_embedding_grad(c, "t", keys.data(), slope.data(), to_table.data(), s, b, h, rows);
      expect_close("position_embedding", to, y, 1e-6);
      expect_close("position_embedding_grad", to_table, gradient, 1e-6);
      lf::rt::read_step_sums(c.rank);
      lf_position_embedding_grad(c, "t", keys.data(), slope.data(), to_table.data(), s, b, h, 20);
      try {
        lf::rt::read_step_sums(c.rank);
        ADD_FAILURE() << "expected a Failure";
      } catch (const lf::rt::Failure &failure) {
        EXPECT_EQ(failure.code, 4);
        EXPECT_NE(failure.message.find("expected positions below 20, the rows of the table, got "), std::string::npos);
      }
    }
  });
}
