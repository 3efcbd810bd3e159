// dropout_test.cpp - the mask is a function of the global place of an element: shards are slices of the whole.
#include "support.h"

#include "kernels/philox.h"

using namespace lf::test;

template <class T> class Dropout : public testing::Test {};
TYPED_TEST_SUITE(Dropout, Reals);

namespace {

constexpr int64_t s = 9, b = 6, h = 22;
constexpr double p = 0.3;

template <class T>
std::vector<T> drop(Rank<T> &c, const std::vector<T> &x, const Ids &pos, int64_t batch, int64_t width, int32_t site = 0,
                    int64_t b_offset = 0, int64_t h_offset = 0, double rate = p) {
  auto y = poisoned<T>(static_cast<int64_t>(x.size()));
  lf_dropout(c, "t", x.data(), pos.data(), y.data(), static_cast<int64_t>(pos.size()), batch, width, rate, site,
             b_offset, h_offset);
  return y;
}

/// x[s0:s1, b0:b1, h0:h1]
template <class T>
std::vector<T> part(const std::vector<T> &x, int64_t s0, int64_t s1, int64_t b0, int64_t b1, int64_t h0, int64_t h1) {
  std::vector<T> y;
  for (int64_t i = s0; i < s1; ++i)
    for (int64_t j = b0; j < b1; ++j)
      for (int64_t e = h0; e < h1; ++e)
        y.push_back(x[static_cast<size_t>((i * b + j) * h + e)]);
  return y;
}

template <class T> struct Whole : Rank<T> {
  Whole() {
    this->rank.seed = 1234;
    this->program.micro_batch = b;
  }
};

} // namespace

// Known answers of the published generator.
TEST(Philox, KnownAnswers) {
  using lf::rt::philox;
  using lf::rt::PhiloxCounter;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TYPED_TEST(Dropout, KeepsScaledOrDrops) {
  using T = TypeParam;
  Whole<T> c;
  constexpr int64_t wide = 40000;
  const std::vector<T> x(wide, T(2));
  const auto y = drop<T>(c, x, {5}, 1, wide);
  int64_t kept = 0;
  for (T e : y) {
    if (e != T(0)) {
      ASSERT_NEAR(e, 2.0 / (1.0 - p), 1e-6);
      ++kept;
    }
  }
  // Five standard deviations.
  EXPECT_NEAR(static_cast<double>(kept), (1.0 - p) * wide, 5.0 * std::sqrt(wide * p * (1.0 - p)));
  EXPECT_EQ(drop<T>(c, x, {5}, 1, wide, 0, 0, 0, 0.0), x);
}

TYPED_TEST(Dropout, ShardsAreSlicesOfTheWhole) {
  using T = TypeParam;
  Whole<T> c;
  const auto x = as<T>(random_values(s * b * h, 1));
  const auto y = drop<T>(c, x, iota(s), b, h);
  // Split positions, samples and channels, at places that are no multiple of anything.
  for (int64_t s0 : {int64_t{0}, int64_t{4}})
    for (int64_t b0 : {int64_t{0}, int64_t{3}})
      for (int64_t h0 : {int64_t{0}, int64_t{5}, int64_t{8}}) {
        const int64_t s1 = s0 ? s : 4, b1 = b0 + 3, h1 = h0 == 0 ? 5 : (h0 == 5 ? 8 : h);
        Ids pos = iota(s1 - s0, static_cast<int32_t>(s0));
        const auto got = drop<T>(c, part(x, s0, s1, b0, b1, h0, h1), pos, b1 - b0, h1 - h0, 0, b0, h0);
        EXPECT_EQ(got, part(y, s0, s1, b0, b1, h0, h1)) << s0 << " " << b0 << " " << h0;
      }
}

// Micro-batch 1 of two ranks with 3 samples each is samples 6 to 11, as micro-batch 1 of one rank with 6.
TYPED_TEST(Dropout, DataParallelRanksShareOneNumbering) {
  using T = TypeParam;
  Whole<T> one;
  one.rank.at.micro_batch = 1;
  const auto x = as<T>(random_values(s * b * h, 1));
  const auto y = drop<T>(one, x, iota(s), b, h);

  const lf_axis axes[] = {{"dp", 2}, {"tp", 4}};
  Whole<T> two;
  two.program.axes = axes;
  two.program.num_axes = 2;
  two.program.dp = 1;
  two.program.tp = 2;
  two.program.micro_batch = 3;
  two.rank.at.micro_batch = 1;
  for (int64_t dp = 0; dp < 2; ++dp)
    EXPECT_EQ(drop<T>(two, part(x, 0, s, 3 * dp, 3 * dp + 3, 0, h), iota(s), 3, h, 0, 3 * dp),
              part(y, 0, s, 3 * dp, 3 * dp + 3, 0, h));
}

TYPED_TEST(Dropout, EveryPartOfThePlaceMatters) {
  using T = TypeParam;
  Whole<T> c;
  const auto x = as<T>(random_values(s * b * h, 1));
  const auto y = drop<T>(c, x, iota(s), b, h);
  EXPECT_EQ(drop<T>(c, x, iota(s), b, h), y);
  EXPECT_NE(drop<T>(c, x, iota(s), b, h, 1), y);
  EXPECT_NE(drop<T>(c, x, iota(s, 1), b, h), y);
  EXPECT_NE(drop<T>(c, x, iota(s), b, h, 0, 1), y);
  auto changed = [&](auto &&change) {
    Whole<T> other;
    change(other.rank);
    return drop<T>(other, x, iota(s), b, h);
  };
  EXPECT_NE(changed([](lf_rank &r) { r.seed = 1235; }), y);
  EXPECT_NE(changed([](lf_rank &r) { r.seed += uint64_t{1} << 40; }), y);
  EXPECT_NE(changed([](lf_rank &r) { r.step.step = 1; }), y);
  EXPECT_NE(changed([](lf_rank &r) { r.at.layer = 0; }), y);
  EXPECT_NE(changed([](lf_rank &r) { r.at.micro_batch = 1; }), y);
}

TYPED_TEST(Dropout, RefusesAProbabilityOfOne) {
  using T = TypeParam;
  Rank<T> c;
  EXPECT_THROW(drop<T>(c, {T(1)}, {0}, 1, 1, 0, 0, 0, 1.0), lf::rt::Failure);
}
