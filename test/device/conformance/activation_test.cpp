// activation_test.cpp - activations, gated units, dropout.
#include "kernels/philox.h"
#include "support.h"

using namespace lf::test;

namespace {

double value(lf_activation_kind kind, double x) {
  switch (kind) {
  case LF_SILU:
    return x / (1.0 + std::exp(-x));
  case LF_GELU:
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  case LF_GELU_TANH:
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  case LF_RELU:
    return x > 0 ? x : 0;
  }
  return 0;
}

double slope(lf_activation_kind kind, double x) {
  const double h = 1e-6;
  return kind == LF_RELU ? (x > 0 ? 1.0 : 0.0) : (value(kind, x + h) - value(kind, x - h)) / (2 * h);
}

template <class T> void check(Rank &c, lf_activation_kind kind, int64_t n, int64_t shift) {
  const Values gate = random_values<T>(n, 6.0), up = random_values<T>(n), dy = random_values<T>(n);
  Reals<T> g(gate, shift), u(up, shift), d(dy, shift);
  Poisoned<T> y(n, shift), dx(n, shift), unit(n, shift), dgate(n, shift), dup(n, shift);
  lf_activation(c, "t", g.data(), y.data(), n, kind);
  lf_activation_grad(c, "t", g.data(), d.data(), dx.data(), n, kind);
  lf_glu(c, "t", g.data(), u.data(), unit.data(), n, kind);
  lf_glu_grad(c, "t", g.data(), u.data(), d.data(), dgate.data(), dup.data(), n, kind);
  Values a(at(n)), b(at(n)), e(at(n)), f(at(n)), h(at(n));
  for (size_t i = 0; i < gate.size(); ++i) {
    a[i] = value(kind, gate[i]);
    b[i] = dy[i] * slope(kind, gate[i]);
    e[i] = a[i] * up[i];
    f[i] = b[i] * up[i];
    h[i] = dy[i] * a[i];
  }
  expect_close("activation", y, a);
  expect_close("activation_grad", dx, b);
  expect_close("glu", unit, e);
  expect_close("glu_grad gate", dgate, f);
  expect_close("glu_grad up", dup, h);
  // Over what they are computed from.
  Reals<T> over(gate, shift);
  lf_activation_grad(c, "t", over.data(), d.data(), over.data(), n, kind);
  lf_glu_grad(c, "t", g.data(), u.data(), d.data(), g.data(), u.data(), n, kind);
  expect_close("activation_grad in place", over, b);
  expect_close("glu_grad gate in place", g, f);
  expect_close("glu_grad up in place", u, h);
}

} // namespace

TEST(Elementwise, ActivationsAndGatedUnits) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (lf_activation_kind kind : {LF_SILU, LF_GELU, LF_GELU_TANH, LF_RELU})
      for (auto [n, shift] : {std::pair<int64_t, int64_t>{3, 0}, {4096, 0}, {4097, 0}, {777, 1}}) {
        SCOPED_TRACE(n);
        check<T>(c, kind, n, shift);
      }
  });
}

TEST(Elementwise, LargeGatedUnits) {
  for_reals([](auto real, Rank &c) { check<decltype(real)>(c, LF_SILU, 16800003, 0); });
}

TEST(Elementwise, ExtremeGatesAreFinite) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (lf_activation_kind kind : {LF_SILU, LF_GELU, LF_GELU_TANH}) {
      Reals<T> g(Values{-200.0, -100.0, 100.0, 200.0}), one(Values(4, 1.0));
      Poisoned<T> y(4), dx(4);
      lf_activation(c, "t", g.data(), y.data(), 4, kind);
      lf_activation_grad(c, "t", g.data(), one.data(), dx.data(), 4, kind);
      expect_close("activation", y, {0.0, 0.0, 100.0, 200.0});
      expect_close("activation_grad", dx, {0.0, 0.0, 1.0, 1.0});
    }
  });
}

TEST(Elementwise, DropoutDrawsTheMaskOfTheCpu) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    c.rank.step.step = 5;
    c.rank.at.layer = 3;
    c.rank.at.micro_batch = 2;
    const int64_t s = 6, b = 3, h = 37, h_offset = 10, b_offset = 4, site = 1;
    const double p = 0.3;
    const Values x = random_values<T>(s * b * h);
    const Ids pos = iota(s, 100);
    const lf::rt::PhiloxCounter words = lf::rt::philox({5, 0, 3, static_cast<uint32_t>(site)}, {77, 0});
    const lf::rt::PhiloxKey key{words[0], words[1]};
    Values want(x.size());
    int64_t dropped = 0;
    for (int64_t i = 0; i < s * b * h; ++i) {
      const int64_t channel = h_offset + i % h, row = i / h;
      const uint32_t sample = static_cast<uint32_t>(2 * 2 + b_offset + row % b);
      const auto draw =
          lf::rt::philox({static_cast<uint32_t>(channel / 4), static_cast<uint32_t>(pos[at(row / b)]), sample, 0}, key);
      const bool drop = draw[at(channel % 4)] < static_cast<uint32_t>(p * 4294967296.0);
      dropped += drop;
      want[at(i)] = drop ? 0.0 : x[at(i)] / (1.0 - p);
    }
    EXPECT_GT(dropped, s * b * h / 5);
    Reals<T> from(x);
    Ints positions(pos);
    Poisoned<T> y(s * b * h);
    lf_dropout(c, "t", from.data(), positions.data(), y.data(), s, b, h, p, static_cast<int32_t>(site), b_offset,
               h_offset);
    expect_close("dropout", y, want, 1e-6);
  });
}
