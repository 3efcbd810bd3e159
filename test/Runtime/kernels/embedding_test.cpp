// embedding_test.cpp - token tables whole and in shards, position tables, and their gradients.
#include "support.h"

using namespace lf::test;

template <class T> class Embedding : public testing::Test {};
TYPED_TEST_SUITE(Embedding, Reals);

namespace {
constexpr int64_t tokens = 29, vocabulary = 12, h = 7;
size_t at(int64_t i) { return static_cast<size_t>(i); }
} // namespace

// Shards of the table give zero for rows of others, so their sum is the whole; so do shards of the gradient, end to
// end.
TYPED_TEST(Embedding, ShardsCombineToTheWhole) {
  using T = TypeParam;
  Rank<T> c;
  const Ids ids = random_ids(tokens, vocabulary, 1);
  const Values table = random_values(vocabulary * h, 2), dy = random_values(tokens * h, 3);
  Values want(at(tokens * h)), gradient(table.size(), 0.0);
  for (int64_t i = 0; i < tokens; ++i)
    for (int64_t e = 0; e < h; ++e) {
      want[at(i * h + e)] = table[at(ids[at(i)] * h + e)];
      gradient[at(ids[at(i)] * h + e)] += dy[at(i * h + e)];
    }
  for (int64_t rows : {vocabulary, vocabulary / 3}) {
    Values sum(at(tokens * h), 0.0), gathered;
    for (int64_t offset = 0; offset < vocabulary; offset += rows) {
      auto y = poisoned<T>(tokens * h);
      lf_embedding(c, "t", ids.data(), as<T>(table).data() + offset * h, y.data(), tokens, rows, h, offset);
      for (size_t i = 0; i < sum.size(); ++i)
        sum[i] += y[i];
      auto dtable = poisoned<T>(rows * h);
      lf_embedding_grad(c, "t", ids.data(), as<T>(dy).data(), dtable.data(), tokens, rows, h, offset, 0);
      auto twice = dtable;
      lf_embedding_grad(c, "t", ids.data(), as<T>(dy).data(), twice.data(), tokens, rows, h, offset, 1);
      for (size_t i = 0; i < twice.size(); ++i)
        ASSERT_NEAR(twice[i], 2 * dtable[i], 1e-5 * std::fabs(dtable[i]));
      gathered.insert(gathered.end(), dtable.begin(), dtable.end());
    }
    expect_close("embedding", as<T>(sum), want, 0.0);
    expect_close("embedding_grad", as<T>(gathered), gradient);
  }
}

TYPED_TEST(Embedding, GradientAgainstDifferences) {
  Rank<double> c;
  const Ids ids = random_ids(tokens, vocabulary, 1);
  Values table = random_values(vocabulary * h, 2);
  const Values dy = random_values(tokens * h, 3);
  auto dtable = poisoned<double>(vocabulary * h);
  lf_embedding_grad(c, "t", ids.data(), dy.data(), dtable.data(), tokens, vocabulary, h, 0, 0);
  expect_gradient("dtable", table, dtable, [&] {
    Values y(at(tokens * h));
    lf_embedding(c, "t", ids.data(), table.data(), y.data(), tokens, vocabulary, h, 0);
    return dot(y, dy);
  });
}

TYPED_TEST(Embedding, Positions) {
  using T = TypeParam;
  Rank<T> c;
  Rank<double> exact;
  constexpr int64_t s = 5, b = 3, rows = 9;
  const Ids pos = {4, 5, 0, 8, 4};
  const Values x = random_values(s * b * h, 1), dy = random_values(s * b * h, 2);
  Values table = random_values(rows * h, 3), want(x.size());
  for (int64_t i = 0; i < s * b; ++i)
    for (int64_t e = 0; e < h; ++e)
      want[at(i * h + e)] = x[at(i * h + e)] + table[at(pos[at(i / b)] * h + e)];
  auto y = poisoned<T>(s * b * h);
  lf_position_embedding(c, "t", as<T>(x).data(), pos.data(), as<T>(table).data(), y.data(), s, b, h);
  expect_close("position_embedding", y, want);

  auto gradient = poisoned<double>(rows * h);
  lf_position_embedding_grad(exact, "t", pos.data(), dy.data(), gradient.data(), s, b, h, rows);
  auto got = poisoned<T>(rows * h);
  lf_position_embedding_grad(c, "t", pos.data(), as<T>(dy).data(), got.data(), s, b, h, rows);
  expect_close("position_embedding_grad", got, gradient);
  expect_gradient("dtable", table, gradient, [&] {
    Values out(x.size());
    lf_position_embedding(exact, "t", x.data(), pos.data(), table.data(), out.data(), s, b, h);
    return dot(out, dy);
  });
}

TYPED_TEST(Embedding, RefusesPositionsOutsideTheTable) {
  using T = TypeParam;
  Rank<T> c;
  const Ids pos = {0, 9};
  const std::vector<T> dy(static_cast<size_t>(2 * h));
  auto dtable = poisoned<T>(9 * h);
  try {
    lf_position_embedding_grad(c, "wpe", pos.data(), dy.data(), dtable.data(), 2, 1, h, 9);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &f) {
    EXPECT_EQ(f.code, 4);
    EXPECT_EQ(f.message, "\"wpe\": expected positions below 9, the rows of the table, got 9; use a smaller "
                         "--seq-length");
  }
}
