// elementwise_test.cpp - copies, sums, slices, transposes, roundings, reductions to one number.
#include "kernels/cuda/round.h"
#include "support.h"

using namespace lf::test;

namespace {

template <class T> void check(Rank &c, int64_t n, int64_t shift) {
  SCOPED_TRACE(n);
  const Values x = random_values<T>(n), y = random_values<T>(n);
  Reals<T> a(x, shift), b(y, shift);
  Poisoned<T> copied(n, shift), zeroed(n, shift);
  lf_copy(c, "t", a.data(), copied.data(), n, dtype_of<T>());
  lf_zero(c, "t", zeroed.data(), n, dtype_of<T>());
  expect_close("copy", copied, x, 0.0);
  expect_close("zero", zeroed, Values(at(n), 0.0), 0.0);
  lf_accumulate(c, "t", a.data(), b.data(), n, dtype_of<T>());
  Values want(at(n));
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = rounded<T>(static_cast<float>(x[i] + y[i]));
  expect_close("accumulate", b, want, 0.0);
}

} // namespace

// Sizes below a pack, of whole packs, and with a tail; a shift off 16 bytes.
TEST(Elementwise, CopiesAndSums) {
  for_reals([](auto real, Rank &c) {
    for (auto [n, shift] : {std::pair<int64_t, int64_t>{1, 0}, {8, 0}, {4096, 0}, {100003, 0}, {1003, 1}})
      check<decltype(real)>(c, n, shift);
  });
}

// More than one pass of the grid.
TEST(Elementwise, LargeCopiesAndSums) {
  for_reals([](auto real, Rank &c) {
    check<decltype(real)>(c, 16800003, 0);
    check<decltype(real)>(c, 2200003, 1);
  });
}

// In a bfloat16 program arrays of main and of real meet the same functions.
TEST(Elementwise, TheTypeIsThatOfTheCall) {
  Rank &c = shared_rank(LF_BF16);
  const int64_t n = 1001;
  const Values x = random_values(n), y = random_values(n);
  Floats a(x), b(y);
  Poisoned<float> copied(n), sum(n);
  lf_copy(c, "t", a.data(), copied.data(), n, LF_F32);
  const void *terms[] = {a.data(), b.data()};
  lf_sum(c, "t", terms, 2, sum.data(), n, LF_F32);
  expect_close("copy", copied, x, 0.0);
  Values want(at(n));
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = static_cast<float>(x[i] + y[i]);
  expect_close("sum", sum, want, 0.0);
}

TEST(Elementwise, FillsWithMain) {
  for_reals([](auto, Rank &c) {
    for (int64_t n : {1, 17, 100003}) {
      Floats x(Values{0.3, 0.7});
      Poisoned<float> filled(n), spread(n);
      lf_fill(c, "t", filled.data(), 0.75, n);
      lf_broadcast(c, "t", x.data(), spread.data(), n);
      expect_close("fill", filled, Values(at(n), 0.75), 0.0);
      expect_close("broadcast", spread, Values(at(n), rounded<float>(0.3)), 0.0);
    }
  });
}

TEST(Elementwise, RoundsToNearestEven) {
  Rank &c = shared_rank(LF_BF16);
  for (int64_t n : {3, 8, 100003}) {
    Values x = random_values(n, 3.0);
    x[0] = 1.0 + 1.0 / 256; // halfway: to even, down
    x[1] = 1.0 + 3.0 / 256; // halfway: to even, up
    x[2] = 0.0;
    Values want;
    for (double e : x)
      want.push_back(rounded<Bf16>(e));
    EXPECT_EQ(want[0], 1.0);
    EXPECT_EQ(want[1], 1.0 + 1.0 / 64);
    Floats from(x);
    Poisoned<Bf16> y(n);
    lf::rt::round_to_real(c, "t", from.data(), y.data(), n);
    expect_close("round_to_real", y, want, 0.0);
  }
}

TEST(Elementwise, SumKeepsTheOrderOfItsTerms) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    const int64_t n = 1777;
    for (int32_t terms : {0, 1, 2, 5, 16, 17, 40})
      for (int64_t shift : {0, 1}) {
        std::vector<std::unique_ptr<Reals<T>>> arrays;
        std::vector<const void *> pointers;
        std::vector<float> sum(at(n), 0.0f);
        for (int32_t t = 0; t < terms; ++t) {
          const Values x = random_values<T>(n);
          for (size_t i = 0; i < sum.size(); ++i) {
            if (t == 16 || (t > 16 && (t - 1) % 15 == 0)) // a launch takes 16 terms, the sum so far among them
              sum[i] = static_cast<float>(rounded<T>(sum[i]));
            sum[i] = t ? sum[i] + static_cast<float>(x[i]) : static_cast<float>(x[i]);
          }
          arrays.push_back(std::make_unique<Reals<T>>(x, shift));
          pointers.push_back(arrays.back()->data());
        }
        Values want;
        for (float e : sum)
          want.push_back(rounded<T>(e));
        Poisoned<T> y(n, shift);
        lf_sum(c, "t", pointers.data(), terms, y.data(), n, dtype_of<T>());
        expect_close("sum", y, want, 0.0);
      }
  });
}

// Runs of an odd number of bytes, of whole words, and of whole packs.
TEST(Elementwise, SlicesAndTransposes) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (auto [a, b, inner] :
         {std::array<int64_t, 3>{7, 5, 33}, {3, 4, 6}, {6, 3, 64}, {40, 8, 1024}, {5, 1, 16}, {2, 9, 1}}) {
      SCOPED_TRACE(inner);
      const Values x = random_values<T>(a * b * inner);
      Reals<T> from(x);
      const int64_t index = b - 1;
      Poisoned<T> sliced(a * inner), turned(a * b * inner);
      lf_slice(c, "t", from.data(), sliced.data(), a, b, inner, index, dtype_of<T>());
      lf_transpose(c, "t", from.data(), turned.data(), a, b, inner, dtype_of<T>());
      Values slice(at(a * inner)), transpose(x.size());
      for (int64_t i = 0; i < a; ++i)
        for (int64_t j = 0; j < b; ++j)
          for (int64_t e = 0; e < inner; ++e) {
            transpose[at((j * a + i) * inner + e)] = x[at((i * b + j) * inner + e)];
            if (j == index)
              slice[at(i * inner + e)] = x[at((i * b + j) * inner + e)];
          }
      expect_close("slice", sliced, slice, 0.0);
      expect_close("transpose", turned, transpose, 0.0);
    }
  });
}

TEST(Elementwise, ReducesToOneNumber) {
  for_reals([](auto, Rank &c) {
    for (int64_t n : {1, 255, 256, 5000, 65537}) {
      const Values x = random_values(n);
      Ids labels = random_ids(n, 10);
      double sum = 0.0, count = 0.0;
      for (size_t i = 0; i < x.size(); ++i) {
        labels[i] -= 3;
        sum += x[i];
        count += labels[i] >= 0;
      }
      Floats from(x);
      Ints ids(labels);
      Poisoned<float> total(1), counted(1);
      lf_sum_all(c, "t", from.data(), total.data(), n);
      lf_count(c, "t", ids.data(), counted.data(), n);
      expect_close("sum_all", total, {sum}, 1e-6);
      expect_close("count", counted, {count}, 0.0);
    }
  });
}
