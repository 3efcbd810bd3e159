// activation_test.cpp - nonlinearities and gated units, and the float exponential and error function under them.
#include "support.h"

#include "kernels/cpu/math.h"

using namespace lf::test;

template <class T> class Activation : public testing::Test {};
TYPED_TEST_SUITE(Activation, Reals);

namespace {

constexpr int64_t count = 1003;
constexpr lf_activation_kind kinds[] = {LF_SILU, LF_GELU, LF_GELU_TANH, LF_RELU};

double reference(double x, lf_activation_kind kind) {
  switch (kind) {
  case LF_SILU:
    return x / (1.0 + std::exp(-x));
  case LF_GELU:
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  case LF_GELU_TANH:
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  case LF_RELU:
    return x > 0.0 ? x : 0.0;
  }
  return std::nan("");
}

} // namespace

TYPED_TEST(Activation, MatchesReference) {
  using T = TypeParam;
  Rank<T> c;
  const Values x = random_values(count, 1, 12.0), up = random_values(count, 2);
  for (lf_activation_kind kind : kinds) {
    Values want(x.size()), gated(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      want[i] = reference(x[i], kind);
      gated[i] = want[i] * up[i];
    }
    auto y = poisoned<T>(count);
    lf_activation(c, "t", as<T>(x).data(), y.data(), count, kind);
    expect_close("activation", y, want, sizeof(T) == 4 ? 1e-6 : 1e-13);
    y = poisoned<T>(count);
    lf_glu(c, "t", as<T>(x).data(), as<T>(up).data(), y.data(), count, kind);
    expect_close("glu", y, gated, sizeof(T) == 4 ? 1e-6 : 1e-13);
  }
}

TYPED_TEST(Activation, GradientAgainstDifferences) {
  using T = TypeParam;
  Rank<double> exact;
  Rank<T> c;
  Values x = random_values(count, 1, 6.0), up = random_values(count, 2);
  const Values dy = random_values(count, 3);
  for (lf_activation_kind kind : kinds) {
    auto dx = poisoned<double>(count), dgate = poisoned<double>(count), dup = poisoned<double>(count);
    lf_activation_grad(exact, "t", x.data(), dy.data(), dx.data(), count, kind);
    lf_glu_grad(exact, "t", x.data(), up.data(), dy.data(), dgate.data(), dup.data(), count, kind);
    for (size_t i = 0; i < x.size(); i += 7) {
      const double step = 1e-5;
      const double slope = (reference(x[i] + step, kind) - reference(x[i] - step, kind)) / (2.0 * step);
      ASSERT_NEAR(dx[i], dy[i] * slope, 1e-8) << "kind " << kind << " at " << x[i];
      ASSERT_NEAR(dgate[i], dy[i] * up[i] * slope, 1e-8) << "kind " << kind << " at " << x[i];
      ASSERT_NEAR(dup[i], dy[i] * reference(x[i], kind), 1e-12) << "kind " << kind << " at " << x[i];
    }
    auto y = poisoned<T>(count), z = poisoned<T>(count);
    lf_activation_grad(c, "t", as<T>(x).data(), as<T>(dy).data(), y.data(), count, kind);
    expect_close("dx", y, dx, sizeof(T) == 4 ? 1e-6 : 1e-13);
    y = poisoned<T>(count);
    lf_glu_grad(c, "t", as<T>(x).data(), as<T>(up).data(), as<T>(dy).data(), y.data(), z.data(), count, kind);
    expect_close("dgate", y, dgate, sizeof(T) == 4 ? 1e-6 : 1e-13);
    expect_close("dup", z, dup, sizeof(T) == 4 ? 1e-6 : 1e-13);
  }
}

// Over what they are computed from, gradients are the same to the bit.
TYPED_TEST(Activation, GradientsInPlace) {
  using T = TypeParam;
  Rank<T> c;
  const auto x = as<T>(random_values(count, 1, 6.0)), up = as<T>(random_values(count, 2)),
             dy = as<T>(random_values(count, 3));
  for (lf_activation_kind kind : kinds) {
    auto dx = poisoned<T>(count), dgate = poisoned<T>(count), dup = poisoned<T>(count);
    lf_activation_grad(c, "t", x.data(), dy.data(), dx.data(), count, kind);
    lf_glu_grad(c, "t", x.data(), up.data(), dy.data(), dgate.data(), dup.data(), count, kind);
    auto over = x, gate = x, second = up;
    lf_activation_grad(c, "t", over.data(), dy.data(), over.data(), count, kind);
    lf_glu_grad(c, "t", gate.data(), second.data(), dy.data(), gate.data(), second.data(), count, kind);
    EXPECT_EQ(over, dx);
    EXPECT_EQ(gate, dgate);
    EXPECT_EQ(second, dup);
  }
}

// Large magnitudes saturate; they never become NaN or infinity times zero.
TYPED_TEST(Activation, SaturatesAtLargeInputs) {
  using T = TypeParam;
  Rank<T> c;
  const std::vector<T> x = {T(-1e4), T(-200), T(200), T(1e4)}, one = {1, 1, 1, 1};
  for (lf_activation_kind kind : kinds) {
    auto y = poisoned<T>(4), dx = poisoned<T>(4);
    lf_activation(c, "t", x.data(), y.data(), 4, kind);
    lf_activation_grad(c, "t", x.data(), one.data(), dx.data(), 4, kind);
    expect_close("value", y, {0.0, 0.0, 200.0, 1e4}, 1e-6);
    expect_close("slope", dx, {0.0, 0.0, 1.0, 1.0}, 1e-6);
  }
}

TYPED_TEST(Activation, RefusesAnUnknownKind) {
  Rank<TypeParam> c;
  EXPECT_THROW(lf_activation(c, "t", nullptr, nullptr, 0, static_cast<lf_activation_kind>(9)), lf::rt::Failure);
}

TEST(FastMath, ExponentialIsAccurateToFloat) {
  for (double x = -87.2; x < 88.3; x += 0.00317) {
    const float at = static_cast<float>(x);
    const double want = std::exp(static_cast<double>(at));
    ASSERT_LE(std::fabs(lf::rt::fast_exp(at) - want), 2.5e-7 * want) << at;
  }
  EXPECT_EQ(lf::rt::fast_exp(0.0f), 1.0f);
  EXPECT_EQ(lf::rt::fast_exp(-88.0f), 0.0f);
  EXPECT_EQ(lf::rt::fast_exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_GT(lf::rt::fast_exp(1e30f), 1e38f);
  EXPECT_TRUE(std::isnan(lf::rt::fast_exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(FastMath, ErrorFunctionIsAccurateToFloat) {
  for (double x = -8.0; x < 8.0; x += 0.00123) {
    const float at = static_cast<float>(x);
    ASSERT_NEAR(lf::rt::fast_erf(at), std::erf(static_cast<double>(at)), 3e-7) << at;
  }
}
