// rope_test.cpp - rotary embedding against double, its adjoint, and its memory of positions.
#include "support.h"

using namespace lf::test;

template <class T> class Rope : public testing::Test {};
TYPED_TEST_SUITE(Rope, Reals);

namespace {

constexpr int64_t s = 5, b = 2, heads = 3, d = 10, half = d / 2, count = s * b * heads * d;

Values frequencies(double base) {
  Values f;
  for (int64_t i = 0; i < half; ++i)
    f.push_back(std::pow(base, -2.0 * static_cast<double>(i) / d));
  return f;
}

Values reference(const Values &x, const Ids &pos, const Values &freq, double scale, double sign) {
  Values y(x.size());
  for (int64_t i = 0; i < s; ++i)
    for (int64_t row = i * b * heads; row < (i + 1) * b * heads; ++row)
      for (int64_t j = 0; j < half; ++j) {
        const size_t first = static_cast<size_t>(row * d + j), second = static_cast<size_t>(row * d + half + j);
        const double angle = sign * pos[static_cast<size_t>(i)] * freq[static_cast<size_t>(j)];
        y[first] = scale * (x[first] * std::cos(angle) - x[second] * std::sin(angle));
        y[second] = scale * (x[second] * std::cos(angle) + x[first] * std::sin(angle));
      }
  return y;
}

} // namespace

// One call after another with other positions, frequencies and scales: nothing of an earlier call may stay.
TYPED_TEST(Rope, MatchesReferenceWhateverCameBefore) {
  using T = TypeParam;
  Rank<T> c;
  const Values x = random_values(count, 1);
  for (double base : {10000.0, 500000.0})
    for (const Ids &pos : {iota(s), iota(s, 1000), Ids{4, 0, 7, 1, 1}})
      for (double scale : {1.0, 1.25})
        for (int inverse : {0, 1}) {
          const Values freq = frequencies(base);
          auto y = poisoned<T>(count);
          lf_rope(c, "t", as<T>(x).data(), pos.data(), y.data(), s, b, heads, d, freq.data(), scale, inverse);
          expect_close("rope", y, reference(x, pos, freq, scale, inverse ? -1.0 : 1.0));
        }
}

TEST(RopeGradient, InverseIsTheAdjoint) {
  Rank<double> c;
  Values x = random_values(count, 1);
  const Values dy = random_values(count, 2), freq = frequencies(10000.0);
  const Ids pos = iota(s, 3);
  auto dx = poisoned<double>(count);
  lf_rope(c, "t", dy.data(), pos.data(), dx.data(), s, b, heads, d, freq.data(), 1.25, 1);
  expect_gradient("dx", x, dx, [&] {
    Values y(x.size());
    lf_rope(c, "t", x.data(), pos.data(), y.data(), s, b, heads, d, freq.data(), 1.25, 0);
    return dot(y, dy);
  });
}
