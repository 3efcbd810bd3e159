// adamw_test.cpp - the update against its definition over several steps, and the square sum.
#include "support.h"

#include "kernels/kernels.h"

using namespace lf::test;

template <class T> class Adamw : public testing::Test {};
TYPED_TEST_SUITE(Adamw, Reals);

TYPED_TEST(Adamw, FollowsTheDefinition) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t count = 101;
  for (double weight_decay : {0.0, 0.1}) {
    lf::rt::AdamwParameters a{0.01, 0.9, 0.95, 1e-3, weight_decay, 0.25, 1};
    Values p = random_values(count, 1), m(count, 0.0), v(count, 0.0);
    auto ps = as<T>(p), ms = as<T>(m), vs = as<T>(v);
    for (a.step = 1; a.step <= 5; ++a.step) {
      const Values g = random_values(count, static_cast<uint32_t>(a.step + 1));
      for (size_t i = 0; i < p.size(); ++i) {
        const double grad = g[i] * a.grad_scale;
        p[i] *= 1.0 - a.lr * a.weight_decay;
        m[i] = a.beta1 * m[i] + (1.0 - a.beta1) * grad;
        v[i] = a.beta2 * v[i] + (1.0 - a.beta2) * grad * grad;
        const double first = m[i] / (1.0 - std::pow(a.beta1, static_cast<double>(a.step)));
        const double second = v[i] / (1.0 - std::pow(a.beta2, static_cast<double>(a.step)));
        p[i] -= a.lr * first / (std::sqrt(second) + a.eps);
      }
      lf::rt::adamw(c, ps.data(), nullptr, as<T>(g).data(), ms.data(), vs.data(), count, a);
      expect_close("p", ps, p, sizeof(T) == 4 ? 1e-6 : 1e-13);
      expect_close("m", ms, m, sizeof(T) == 4 ? 1e-7 : 1e-13);
      expect_close("v", vs, v, sizeof(T) == 4 ? 1e-7 : 1e-13);
    }
  }
}

// Padding has zero gradients: it must stay zero, with eps as the only thing in the denominator.
TYPED_TEST(Adamw, ZeroStaysZero) {
  using T = TypeParam;
  Rank<T> c;
  std::vector<T> p(3), g(3), m(3), v(3);
  lf::rt::adamw(c, p.data(), nullptr, g.data(), m.data(), v.data(), 3, {});
  EXPECT_EQ(p, std::vector<T>(3));
}

TYPED_TEST(Adamw, SquareSumInDouble) {
  using T = TypeParam;
  Rank<T> c;
  constexpr int64_t count = 100003;
  const Values x = random_values(count, 1);
  double want = 0.0;
  for (double e : x)
    want += e * e;
  EXPECT_NEAR(lf::rt::square_sum(c, as<T>(x).data(), count), want, 1e-12 * want);
  EXPECT_EQ(lf::rt::square_sum(c, nullptr, 0), 0.0);
}
