// matmul_test.cpp - the matrix product in all its forms and types, odd alignments too, and the bias.
#include "support.h"

using namespace lf::test;

namespace {

struct Size {
  int64_t m, n, k;
};

double element(const Values &a, const Values &b, Size z, bool trans_a, bool trans_b, int64_t i, int64_t j) {
  double sum = 0.0;
  for (int64_t e = 0; e < z.k; ++e)
    sum += a[at(trans_a ? e * z.m + i : i * z.k + e)] * b[at(trans_b ? j * z.k + e : e * z.n + j)];
  return sum;
}

Values product(const Values &a, const Values &b, Size z, bool trans_a, bool trans_b) {
  Values c(at(z.m * z.n));
  for (int64_t i = 0; i < z.m; ++i)
    for (int64_t j = 0; j < z.n; ++j)
      c[at(i * z.n + j)] = element(a, b, z, trans_a, trans_b, i, j);
  return c;
}

/// T of a and b, C of c.
template <class T, class C> void check(Rank &c, Size z, bool trans_a, bool trans_b) {
  SCOPED_TRACE(std::to_string(z.m) + " x " + std::to_string(z.n) + " x " + std::to_string(z.k) +
               (trans_a ? ", a transposed" : "") + (trans_b ? ", b transposed" : "") +
               (sizeof(C) == 2 ? ", bfloat16" : ", float32"));
  const Values a = random_values<T>(z.m * z.k), b = random_values<T>(z.k * z.n), old = random_values<C>(z.m * z.n);
  const double scale = std::sqrt(static_cast<double>(z.k));
  Values want = product(a, b, z, trans_a, trans_b);
  Reals<T> x(a), y(b);
  Reals<C> sum(old);
  Poisoned<C> out(z.m * z.n), again(z.m * z.n);
  lf_matmul(c, "t", x.data(), y.data(), out.data(), z.m, z.n, z.k, trans_a, trans_b, 0, dtype_of<C>());
  expect_close("overwrite", out, want, 2e-5, scale);
  lf_matmul(c, "t", x.data(), y.data(), again.data(), z.m, z.n, z.k, trans_a, trans_b, 0, dtype_of<C>());
  expect_same("again", out, again);
  if (sizeof(C) == 2) // a gradient is main
    return;
  lf_matmul(c, "t", x.data(), y.data(), sum.data(), z.m, z.n, z.k, trans_a, trans_b, 1, dtype_of<C>());
  for (size_t i = 0; i < want.size(); ++i)
    want[i] += old[i];
  expect_close("accumulate", sum, want, 2e-5, scale);
}

const Size sizes[] = {{1, 1, 1}, {7, 5, 3}, {33, 65, 129}, {130, 1, 17}, {1, 70, 40}, {256, 384, 512}, {64, 8, 4096}};

} // namespace

TEST(Matmul, AllTransposesOverwriteAndAccumulate) {
  for (Size z : sizes)
    for (bool trans_a : {false, true})
      for (bool trans_b : {false, true}) {
        check<float, float>(shared_rank(LF_F32), z, trans_a, trans_b);
        check<Bf16, Bf16>(shared_rank(LF_BF16), z, trans_a, trans_b);
        check<Bf16, float>(shared_rank(LF_BF16), z, trans_a, trans_b);
      }
}

// Sizes of a training step: 256 elements of each are compared.
TEST(Matmul, LargeSizesBySamples) {
  Rank &c = shared_rank(LF_BF16);
  for (Size z : {Size{4096, 2048, 2048}, Size{2048, 8192, 4096}})
    for (bool trans_a : {false, true}) {
      const bool trans_b = !trans_a;
      const Values a = random_values<Bf16>(z.m * z.k), b = random_values<Bf16>(z.k * z.n);
      Reals<Bf16> x(a), y(b);
      Poisoned<Bf16> real(z.m * z.n);
      Poisoned<float> main(z.m * z.n), again(z.m * z.n);
      lf_matmul(c, "t", x.data(), y.data(), real.data(), z.m, z.n, z.k, trans_a, trans_b, 0, LF_BF16);
      lf_matmul(c, "t", x.data(), y.data(), main.data(), z.m, z.n, z.k, trans_a, trans_b, 0, LF_F32);
      lf_matmul(c, "t", x.data(), y.data(), again.data(), z.m, z.n, z.k, trans_a, trans_b, 0, LF_F32);
      expect_same("again", main, again);
      const std::vector<Bf16> got_real = real.get();
      const std::vector<float> got_main = main.get();
      for (size_t i = 0; i < got_main.size(); ++i)
        ASSERT_TRUE(std::isfinite(got_main[i]) && std::isfinite(from(got_real[i]))) << i;
      const double scale = std::sqrt(static_cast<double>(z.k));
      for (int sample = 0; sample < 256; ++sample) {
        const int64_t i = generator()() % z.m, j = generator()() % z.n;
        const double want = element(a, b, z, trans_a, trans_b, i, j);
        EXPECT_NEAR(got_main[at(i * z.n + j)], want, 2e-5 * (scale + std::fabs(want)));
        EXPECT_NEAR(from(got_real[at(i * z.n + j)]), want, 2e-5 * scale + std::fabs(want) / 256);
      }
    }
}

// Parameters lie at any element of an arena.
TEST(Matmul, OperandsThatAreNotAligned) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (Size z : {Size{64, 96, 80}, Size{5, 7, 9}})
      for (int64_t shift : {1, 2, 3, 4, 8}) {
        SCOPED_TRACE(shift);
        const Values a = random_values<T>(z.m * z.k), b = random_values<T>(z.k * z.n);
        const Values want = product(a, b, z, false, false);
        Reals<T> x(a, shift), y(b, shift);
        Poisoned<T> out(z.m * z.n, shift);
        Poisoned<float> main(z.m * z.n, shift);
        lf_matmul(c, "t", x.data(), y.data(), out.data(), z.m, z.n, z.k, 0, 0, 0, dtype_of<T>());
        lf_matmul(c, "t", x.data(), y.data(), main.data(), z.m, z.n, z.k, 0, 0, 0, LF_F32);
        expect_close("shifted", out, want, 2e-5, 9.0);
        expect_close("shifted, into main", main, want, 2e-5, 9.0);
      }
  });
}

TEST(Matmul, AnEmptySumIsZero) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    Reals<T> x(Values{1.0});
    Poisoned<float> y(6);
    lf_matmul(c, "t", x.data(), x.data(), y.data(), 2, 3, 0, 0, 0, 0, LF_F32);
    expect_close("k 0", y, Values(6, 0.0), 0.0);
  });
}

// TF32 would be wrong by 1e-4 here.
TEST(Matmul, ProductsAreFp32) {
  Rank &c = shared_rank();
  const Size z{128, 128, 4096};
  const Values a = random_values(z.m * z.k), b = random_values(z.k * z.n), want = product(a, b, z, false, false);
  Floats x(a), y(b);
  Poisoned<float> out(z.m * z.n);
  lf_matmul(c, "t", x.data(), y.data(), out.data(), z.m, z.n, z.k, 0, 0, 0, LF_F32);
  expect_close("fp32", out, want, 2e-5);
}

TEST(Matmul, RefusesTypesThatItHasNot) {
  Rank &c = shared_rank();
  Floats x(Values{1.0});
  try {
    lf_matmul(c, "product", x.data(), x.data(), x.data(), 1, 1, 1, 0, 0, 0, LF_BF16);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &failure) {
    EXPECT_EQ(failure.code, 2);
    EXPECT_NE(failure.message.find("\"product\": expected a product on cuda of float32 into float32"),
              std::string::npos);
  }
}

TEST(Matmul, Bias) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (auto [rows, cols, shift] :
         {std::array<int64_t, 3>{1, 37, 0}, {13, 37, 0}, {5000, 37, 0}, {5000, 520, 0}, {100, 256, 1}, {3, 8, 0}}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
      const Values x = random_values<T>(rows * cols), b = random_values<T>(cols);
      Values want(x.size()), db(at(cols), 0.0);
      for (size_t i = 0; i < x.size(); ++i) {
        want[i] = x[i] + b[i % at(cols)];
        db[i % at(cols)] += x[i];
      }
      Reals<T> from(x, shift), bias(b, shift);
      Poisoned<T> y(rows * cols, shift);
      Poisoned<float> gradient(cols), again(cols);
      lf_bias_add(c, "t", from.data(), bias.data(), y.data(), rows, cols);
      lf_bias_grad(c, "t", from.data(), gradient.data(), rows, cols);
      lf_bias_grad(c, "t", from.data(), again.data(), rows, cols);
      expect_close("bias_add", y, want, 1e-6);
      expect_close("bias_grad", gradient, db, sizeof(T) == 2 ? 1e-5 : 1e-6);
      expect_same("bias_grad", gradient, again);
    }
  });
}
