// elementwise_test.cpp - copies, sums, slices, transposes and reductions, and the refusal of bfloat16.
#include "support.h"

using namespace lf::test;

template <class T> class Elementwise : public testing::Test {};
TYPED_TEST_SUITE(Elementwise, Reals);

TYPED_TEST(Elementwise, CopyZeroFillBroadcast) {
  using T = TypeParam;
  Rank<T> c;
  const Values x = random_values(37, 1);
  const auto xs = as<T>(x);
  auto y = poisoned<T>(37);
  lf_copy(c, "t", xs.data(), y.data(), 37, c.program.dtype);
  expect_close("copy", y, x, 0.0);
  y = poisoned<T>(37);
  lf_zero(c, "t", y.data(), 37, c.program.dtype);
  expect_close("zero", y, Values(37, 0.0), 0.0);
  y = poisoned<T>(37);
  lf_fill(c, "t", y.data(), 0.5, 37);
  expect_close("fill", y, Values(37, 0.5), 0.0);
  y = poisoned<T>(37);
  lf_broadcast(c, "t", xs.data() + 3, y.data(), 37);
  expect_close("broadcast", y, Values(37, x[3]), 0.0);
}

TYPED_TEST(Elementwise, WritesNothingBehindItsEnd) {
  using T = TypeParam;
  Rank<T> c;
  const auto x = as<T>(random_values(37, 1));
  const void *terms[] = {x.data(), x.data(), x.data()};
  for (int kernel = 0; kernel < 4; ++kernel) {
    std::vector<T> y(40, T(7));
    if (kernel == 0)
      lf_copy(c, "t", x.data(), y.data(), 37, c.program.dtype);
    if (kernel == 1)
      lf_zero(c, "t", y.data(), 37, c.program.dtype);
    if (kernel == 2)
      lf_accumulate(c, "t", x.data(), y.data(), 37, c.program.dtype);
    if (kernel == 3)
      lf_sum(c, "t", terms, 3, y.data(), 37, c.program.dtype);
    for (size_t i = 37; i < 40; ++i)
      EXPECT_EQ(y[i], T(7)) << "kernel " << kernel;
  }
}

TYPED_TEST(Elementwise, Accumulate) {
  using T = TypeParam;
  Rank<T> c;
  const Values x = random_values(1001, 1), y = random_values(1001, 2);
  const auto xs = as<T>(x);
  auto ys = as<T>(y);
  lf_accumulate(c, "t", xs.data(), ys.data(), 1001, c.program.dtype);
  Values want(1001);
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = x[i] + y[i];
  expect_close("accumulate", ys, want);
}

// Any number of terms, over the edges of the internal blocks.
TYPED_TEST(Elementwise, SumOfTerms) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t count = 5003;
  for (int32_t terms = 0; terms <= 5; ++terms) {
    std::vector<std::vector<T>> xs;
    std::vector<const void *> pointers;
    Values want(count, 0.0);
    for (int32_t t = 0; t < terms; ++t) {
      const Values x = random_values(count, static_cast<uint32_t>(t + 1));
      for (size_t i = 0; i < want.size(); ++i)
        want[i] += x[i];
      xs.push_back(as<T>(x));
      pointers.push_back(xs.back().data());
    }
    auto y = poisoned<T>(count);
    lf_sum(c, "t", pointers.data(), terms, y.data(), count, c.program.dtype);
    expect_close("sum", y, want);
  }
}

TYPED_TEST(Elementwise, Slice) {
  using T = TypeParam;
  Rank<T> c;
  const Values x = random_values(3 * 4 * 5, 1);
  const auto xs = as<T>(x);
  for (int64_t index = 0; index < 4; ++index) {
    auto y = poisoned<T>(3 * 5);
    lf_slice(c, "t", xs.data(), y.data(), 3, 4, 5, index, c.program.dtype);
    Values want;
    for (int64_t o = 0; o < 3; ++o)
      for (int64_t i = 0; i < 5; ++i)
        want.push_back(x[static_cast<size_t>((o * 4 + index) * 5 + i)]);
    expect_close("slice", y, want, 0.0);
  }
}

TYPED_TEST(Elementwise, Transpose) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t a = 21, b = 35;
  for (int64_t inner : {1, 3, 8, 9, 40}) {
    const Values x = random_values(a * b * inner, 1);
    const auto xs = as<T>(x);
    auto y = poisoned<T>(a * b * inner);
    lf_transpose(c, "t", xs.data(), y.data(), a, b, inner, c.program.dtype);
    Values want(x.size());
    for (int64_t i = 0; i < a; ++i)
      for (int64_t j = 0; j < b; ++j)
        for (int64_t e = 0; e < inner; ++e)
          want[static_cast<size_t>((j * a + i) * inner + e)] = x[static_cast<size_t>((i * b + j) * inner + e)];
    expect_close("transpose", y, want, 0.0);
  }
}

// A float sum of 1e5 terms one after another would be off by about 1e-4.
TYPED_TEST(Elementwise, SumAllIsAccurate) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t count = 100003;
  Values x = random_values(count, 1);
  double want = 0.0;
  for (double &e : x) {
    e = static_cast<float>(e + 1.0);
    want += e;
  }
  const auto xs = as<T>(x);
  auto y = poisoned<T>(1);
  lf_sum_all(c, "t", xs.data(), y.data(), count);
  expect_close("sum_all", y, {want}, sizeof(T) == 4 ? 1e-7 : 1e-13);
}

TYPED_TEST(Elementwise, CountIgnoresNegativeLabels) {
  using T = TypeParam;
  Rank<T> c;
  const Ids labels = {0, -1, 5, -100, 3, 0};
  auto y = poisoned<T>(1);
  lf_count(c, "t", labels.data(), y.data(), 6);
  EXPECT_EQ(y[0], T(4));
}

TEST(ComputeType, RefusesBfloat16OnTheCpu) {
  Rank<float> c;
  c.program.dtype = LF_BF16;
  float y = 0.0f;
  try {
    lf_zero(c, "input_norm", &y, 1, c.program.dtype);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &f) {
    EXPECT_EQ(f.code, 2);
    EXPECT_EQ(f.message, "\"input_norm\": expected the compute type on cpu to be float32 or float64, got bfloat16; "
                         "compile with --fp32 or --fp64, or for --target cuda");
  }
}
