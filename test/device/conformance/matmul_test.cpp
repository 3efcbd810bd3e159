// matmul_test.cpp - the matrix product in all its forms, odd alignments too, and the bias.
#include "support.h"

using namespace lf::test;

namespace {

struct Size {
  int64_t m, n, k;
};

Values product(const Values &a, const Values &b, Size z, bool trans_a, bool trans_b) {
  Values c(at(z.m * z.n));
  for (int64_t i = 0; i < z.m; ++i)
    for (int64_t j = 0; j < z.n; ++j) {
      double sum = 0.0;
      for (int64_t e = 0; e < z.k; ++e)
        sum += a[at(trans_a ? e * z.m + i : i * z.k + e)] * b[at(trans_b ? j * z.k + e : e * z.n + j)];
      c[at(i * z.n + j)] = sum;
    }
  return c;
}

} // namespace

TEST(Matmul, AllTransposesOverwriteAndAccumulate) {
  Rank &c = shared_rank();
  for (Size z :
       {Size{1, 1, 1}, Size{7, 5, 3}, Size{33, 65, 129}, Size{130, 1, 17}, Size{1, 70, 40}, Size{256, 384, 512}})
    for (int32_t trans_a : {0, 1})
      for (int32_t trans_b : {0, 1}) {
        const Values a = random_values(z.m * z.k), b = random_values(z.k * z.n), old = random_values(z.m * z.n);
        Values want = product(a, b, z, trans_a, trans_b);
        Floats x(a), y(b), sum(old);
        Poisoned out(z.m * z.n);
        lf_matmul(c, "t", x.data(), y.data(), out.data(), z.m, z.n, z.k, trans_a, trans_b, 0, LF_F32);
        expect_close("overwrite", out, want, 2e-5);
        lf_matmul(c, "t", x.data(), y.data(), sum.data(), z.m, z.n, z.k, trans_a, trans_b, 1, LF_F32);
        for (size_t i = 0; i < want.size(); ++i)
          want[i] += old[i];
        expect_close("accumulate", sum, want, 2e-5);
      }
}

// Parameters lie at any element of an arena.
TEST(Matmul, OperandsThatAreNotAligned) {
  Rank &c = shared_rank();
  const Size z{64, 96, 80};
  for (int64_t shift : {1, 2, 3}) {
    const Values a = random_values(z.m * z.k + shift), b = random_values(z.k * z.n + shift);
    Values old(at(z.m * z.n + shift), 9.0);
    const Values want =
        product(Values(a.begin() + shift, a.end()), Values(b.begin() + shift, b.end()), z, false, false);
    std::copy(want.begin(), want.end(), old.begin() + shift);
    Floats x(a), y(b);
    Floats out(Values(old.size(), 9.0));
    lf_matmul(c, "t", x.data() + shift, y.data() + shift, out.data() + shift, z.m, z.n, z.k, 0, 0, 0, LF_F32);
    expect_close("shifted", out, old, 2e-5);
  }
}

TEST(Matmul, AnEmptySumIsZero) {
  Rank &c = shared_rank();
  Floats x(Values{1.0});
  Poisoned y(6);
  lf_matmul(c, "t", x.data(), x.data(), y.data(), 2, 3, 0, 0, 0, 0, LF_F32);
  expect_close("k 0", y, Values(6, 0.0), 0.0);
}

// TF32 would be wrong by 1e-4 here.
TEST(Matmul, ProductsAreFp32) {
  Rank &c = shared_rank();
  const Size z{128, 128, 4096};
  const Values a = random_values(z.m * z.k), b = random_values(z.k * z.n), want = product(a, b, z, false, false);
  Floats x(a), y(b);
  Poisoned out(z.m * z.n);
  lf_matmul(c, "t", x.data(), y.data(), out.data(), z.m, z.n, z.k, 0, 0, 0, LF_F32);
  expect_close("fp32", out, want, 2e-5);
}

TEST(Matmul, Bias) {
  Rank &c = shared_rank();
  for (int64_t rows : {1, 13, 5000}) {
    const int64_t cols = 37;
    const Values x = random_values(rows * cols), b = random_values(cols);
    Values want(x.size()), db(at(cols), 0.0);
    for (size_t i = 0; i < x.size(); ++i) {
      want[i] = x[i] + b[i % at(cols)];
      db[i % at(cols)] += x[i];
    }
    Floats from(x), bias(b);
    Poisoned y(rows * cols), gradient(cols);
    lf_bias_add(c, "t", from.data(), bias.data(), y.data(), rows, cols);
    lf_bias_grad(c, "t", from.data(), gradient.data(), rows, cols);
    expect_close("bias_add", y, want, 1e-6);
    expect_close("bias_grad", gradient, db, 1e-6);
  }
}
