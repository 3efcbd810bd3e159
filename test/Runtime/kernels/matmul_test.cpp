// matmul_test.cpp - the matrix product in all its forms, and the bias.
#include "support.h"

using namespace lf::test;

template <class T> class Matmul : public testing::Test {};
TYPED_TEST_SUITE(Matmul, Reals);

namespace {

struct Size {
  int64_t m, n, k;
};

Values product(const Values &a, const Values &b, Size z, bool trans_a, bool trans_b) {
  Values c(static_cast<size_t>(z.m * z.n));
  for (int64_t i = 0; i < z.m; ++i)
    for (int64_t j = 0; j < z.n; ++j) {
      double sum = 0.0;
      for (int64_t e = 0; e < z.k; ++e)
        sum += a[static_cast<size_t>(trans_a ? e * z.m + i : i * z.k + e)] *
               b[static_cast<size_t>(trans_b ? j * z.k + e : e * z.n + j)];
      c[static_cast<size_t>(i * z.n + j)] = sum;
    }
  return c;
}

} // namespace

TYPED_TEST(Matmul, AllTransposesOverwriteAndAccumulate) {
  using T = TypeParam;
  Rank<T> c;
  for (Size z : {Size{1, 1, 1}, Size{7, 5, 3}, Size{33, 65, 129}, Size{130, 1, 17}, Size{1, 70, 40}})
    for (int trans_a : {0, 1})
      for (int trans_b : {0, 1}) {
        const Values a = random_values(z.m * z.k, 1), b = random_values(z.k * z.n, 2);
        const Values old = random_values(z.m * z.n, 3);
        Values want = product(a, b, z, trans_a, trans_b);
        auto y = poisoned<T>(z.m * z.n);
        lf_matmul(c, "t", as<T>(a).data(), as<T>(b).data(), y.data(), z.m, z.n, z.k, trans_a, trans_b, 0, c.program.dtype);
        expect_close("overwrite", y, want);
        y = as<T>(old);
        lf_matmul(c, "t", as<T>(a).data(), as<T>(b).data(), y.data(), z.m, z.n, z.k, trans_a, trans_b, 1, c.program.dtype);
        for (size_t i = 0; i < want.size(); ++i)
          want[i] += old[i];
        expect_close("accumulate", y, want);
      }
}

TYPED_TEST(Matmul, RefusesWhatBlasCannotIndex) {
  Rank<TypeParam> c;
  try {
    lf_matmul(c, "t", nullptr, nullptr, nullptr, 1, int64_t{1} << 31, 1, 0, 0, 0, c.program.dtype);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &f) {
    EXPECT_EQ(f.code, 2);
    EXPECT_NE(f.message.find("expected \"n\" to be 0 to 2147483647, got 2147483648"), std::string::npos) << f.message;
  }
}

TYPED_TEST(Matmul, Bias) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t rows = 13, cols = 37;
  Values x = random_values(rows * cols, 1), b = random_values(cols, 2);
  const Values dy = random_values(rows * cols, 3);
  Values want(x.size()), db(cols, 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    want[i] = x[i] + b[i % cols];
    db[i % cols] += dy[i];
  }
  auto y = poisoned<T>(rows * cols);
  lf_bias_add(c, "t", as<T>(x).data(), as<T>(b).data(), y.data(), rows, cols);
  expect_close("bias_add", y, want);
  auto got = poisoned<T>(cols);
  lf_bias_grad(c, "t", as<T>(dy).data(), got.data(), rows, cols);
  expect_close("bias_grad", got, db);

  Rank<double> exact;
  auto gradient = poisoned<double>(cols);
  lf_bias_grad(exact, "t", dy.data(), gradient.data(), rows, cols);
  expect_gradient("bias_grad", b, gradient, [&] {
    Values out(x.size());
    lf_bias_add(exact, "t", x.data(), b.data(), out.data(), rows, cols);
    return dot(out, dy);
  });
}
