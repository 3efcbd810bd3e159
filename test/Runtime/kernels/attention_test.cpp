// attention_test.cpp - blocked attention against plain softmax in double, over masks, groups and odd sizes; gradients
// against differences.
#include "support.h"

#include <algorithm>

using namespace lf::test;

template <class T> class Attention : public testing::Test {};
TYPED_TEST_SUITE(Attention, Reals);

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

struct Case {
  const char *name;
  int64_t s, t, b, g, r, d, window;
  Ids pq, pk;
  int64_t queries() const { return s * b * g * r * d; }
  int64_t keys() const { return t * b * g * d; }
  int64_t rows() const { return s * b * g * r; }
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(d)); }
};

Ids shuffled(int64_t count, uint32_t seed) {
  Ids ids = iota(count);
  std::mt19937 generator(seed);
  for (size_t i = ids.size(); i > 1; --i)
    std::swap(ids[i - 1], ids[generator() % i]);
  return ids;
}

/// The first and last quarter of a sequence: what one of two ranks holds in zig-zag order.
Ids zigzag(int64_t count) {
  Ids ids = iota(count / 4);
  for (int64_t i = 3 * count / 4; i < count; ++i)
    ids.push_back(static_cast<int32_t>(i));
  return ids;
}

std::vector<Case> cases() {
  return {
      {"one token", 1, 1, 1, 1, 1, 3, 0, iota(1), iota(1)},
      {"causal over blocks", 150, 150, 1, 2, 3, 5, 0, iota(150), iota(150)},
      {"exact blocks", 128, 128, 2, 1, 2, 8, 0, iota(128), iota(128)},
      {"window", 150, 150, 1, 1, 2, 6, 17, iota(150), iota(150)},
      {"window of one", 70, 70, 1, 1, 1, 4, 1, iota(70), iota(70)},
      {"a shard of queries", 65, 200, 1, 2, 1, 7, 0, iota(65, 100), iota(200)},
      {"zig-zag", 120, 240, 1, 1, 2, 5, 0, zigzag(240), iota(240)},
      {"any order", 90, 90, 2, 1, 1, 5, 0, shuffled(90, 1), shuffled(90, 2)},
      {"any order, window", 90, 90, 1, 1, 2, 5, 11, shuffled(90, 1), shuffled(90, 2)},
      {"queries without keys", 150, 90, 1, 1, 2, 5, 0, iota(150), iota(90, 30)},
      {"no visible key at all", 10, 70, 1, 1, 1, 3, 0, iota(10), iota(70, 10)},
  };
}

struct Input {
  Values q, k, v, dy;
  explicit Input(const Case &n)
      : q(random_values(n.queries(), 1, 3.0)), k(random_values(n.keys(), 2, 3.0)), v(random_values(n.keys(), 3)),
        dy(random_values(n.queries(), 4)) {}
};

template <class T> struct Result { std::vector<T> o, lse, dq, dk, dv; };

Result<double> reference(const Case &n, const Input &x) {
  Result<double> y;
  y.o.assign(at(n.queries()), 0.0);
  y.lse.assign(at(n.rows()), -std::numeric_limits<double>::infinity());
  const int64_t heads = n.b * n.g * n.r;
  for (int64_t i = 0; i < n.s; ++i)
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t row = i * heads + head, group = head / n.r;
      Values score(at(n.t), 0.0);
      double sum = 0.0;
      for (int64_t j = 0; j < n.t; ++j) {
        if (n.pk[at(j)] > n.pq[at(i)] || (n.window > 0 && n.pq[at(i)] - n.pk[at(j)] >= n.window))
          continue;
        double inner = 0.0;
        for (int64_t e = 0; e < n.d; ++e)
          inner += x.q[at(row * n.d + e)] * x.k[at((j * n.b * n.g + group) * n.d + e)];
        score[at(j)] = std::exp(inner * n.scale());
        sum += score[at(j)];
      }
      if (sum == 0.0)
        continue;
      y.lse[at(row)] = std::log(sum);
      for (int64_t j = 0; j < n.t; ++j)
        for (int64_t e = 0; e < n.d; ++e)
          y.o[at(row * n.d + e)] += score[at(j)] / sum * x.v[at((j * n.b * n.g + group) * n.d + e)];
    }
  return y;
}

template <class T> void forward(const Case &n, const Input &x, Result<T> &y) {
  Rank<T> c;
  y.o = poisoned<T>(n.queries());
  y.lse = poisoned<T>(n.rows());
  lf_attention(c, "t", as<T>(x.q).data(), as<T>(x.k).data(), as<T>(x.v).data(), n.pq.data(), n.pk.data(), y.o.data(),
               y.lse.data(), n.s, n.t, n.b, n.g, n.r, n.d, n.scale(), n.window);
}

template <class T> Result<T> run(const Case &n, const Input &x) {
  Rank<T> c;
  Result<T> y;
  forward(n, x, y);
  y.dq = poisoned<T>(n.queries());
  y.dk = poisoned<T>(n.keys());
  y.dv = poisoned<T>(n.keys());
  lf_attention_grad(c, "t", as<T>(x.q).data(), as<T>(x.k).data(), as<T>(x.v).data(), n.pq.data(), n.pk.data(),
                    y.o.data(), y.lse.data(), as<T>(x.dy).data(), y.dq.data(), y.dk.data(), y.dv.data(), n.s, n.t, n.b,
                    n.g, n.r, n.d, n.scale(), n.window);
  return y;
}

} // namespace

TYPED_TEST(Attention, MatchesPlainSoftmax) {
  using T = TypeParam;
  for (const Case &n : cases()) {
    SCOPED_TRACE(n.name);
    const Input x(n);
    const auto want = reference(n, x);
    const auto got = run<T>(n, x);
    expect_close("o", got.o, want.o);
    expect_close("lse", got.lse, want.lse);
    const auto exact = run<double>(n, x);
    expect_close("dq", got.dq, exact.dq);
    expect_close("dk", got.dk, exact.dk);
    expect_close("dv", got.dv, exact.dv);
  }
}

TEST(AttentionGradient, AgainstDifferences) {
  for (const Case &n : cases()) {
    SCOPED_TRACE(n.name);
    Input x(n);
    const auto y = run<double>(n, x);
    const auto loss = [&] {
      Result<double> out;
      forward(n, x, out);
      return dot(out.o, x.dy);
    };
    // About forty places in each array, spread by an odd step over blocks, heads and channels.
    const auto stride = [](const Values &a) { return std::max<size_t>(1, a.size() / 40) | 1u; };
    expect_gradient("dq", x.q, y.dq, loss, stride(x.q));
    expect_gradient("dk", x.k, y.dk, loss, stride(x.k));
    expect_gradient("dv", x.v, y.dv, loss, stride(x.v));
  }
}

TYPED_TEST(Attention, QueriesWithoutKeysAreZero) {
  using T = TypeParam;
  const Case n{"", 3, 4, 1, 1, 1, 2, 0, {0, 1, 9}, iota(4, 5)};
  const auto y = run<T>(n, Input(n));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(y.o[i], T(0));
    EXPECT_EQ(y.dq[i], T(0));
  }
  EXPECT_EQ(y.lse[0], -std::numeric_limits<T>::infinity());
  EXPECT_EQ(y.lse[1], -std::numeric_limits<T>::infinity());
  EXPECT_TRUE(std::isfinite(y.lse[2]));
}

// Scores of hundreds: a softmax without its maximum would overflow.
TYPED_TEST(Attention, LargeScores) {
  using T = TypeParam;
  const Case n{"", 70, 70, 1, 1, 1, 4, 0, iota(70), iota(70)};
  Input x(n);
  for (double &e : x.q)
    e *= 64.0;
  const auto y = run<T>(n, x), again = run<T>(n, x);
  for (T e : y.o)
    ASSERT_TRUE(std::isfinite(e));
  EXPECT_EQ(y.dk, again.dk);
  expect_close("o", y.o, values(run<double>(n, x).o), sizeof(T) == 4 ? 1e-3 : 1e-12);
}
