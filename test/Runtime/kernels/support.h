// support.h - what every kernel test needs: a rank without a job, random arrays, poisoned outputs, and two ways to
// judge: against values in double, and a gradient against central differences.
#pragma once

#include "comm/comm.h"
#include "data/token_source.h"
#include "rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace lf::test {

using Values = std::vector<double>;
using Ids = std::vector<int32_t>;

/// A program without parameters and a rank of it that nothing connects; T is the compute type.
template <class T> struct Rank {
  Rank() {
    program.dtype = sizeof(T) == 4 ? LF_F32 : LF_F64;
    rank.program = &program;
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  operator lf_rank *() { return &rank; }
  lf_program program{};
  lf_rank rank;
};

/// Uniform in [-scale, scale], rounded to float so that float and double kernels see the same input.
inline Values random_values(int64_t count, uint32_t seed, double scale = 1.0) {
  std::mt19937 generator(seed);
  Values x(static_cast<size_t>(count));
  for (double &e : x)
    e = static_cast<float>(scale * (generator() / 2147483648.0 - 1.0));
  return x;
}

inline Ids random_ids(int64_t count, uint32_t below, uint32_t seed) {
  std::mt19937 generator(seed);
  Ids ids(static_cast<size_t>(count));
  for (int32_t &e : ids)
    e = static_cast<int32_t>(generator() % below);
  return ids;
}

inline Ids iota(int64_t count, int32_t first = 0) {
  Ids ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = first + static_cast<int32_t>(i);
  return ids;
}

template <class T> std::vector<T> as(const Values &x) { return std::vector<T>(x.begin(), x.end()); }
template <class T> Values values(const std::vector<T> &x) { return Values(x.begin(), x.end()); }

/// An output that shows every element that a kernel forgets.
template <class T> std::vector<T> poisoned(int64_t count) {
  return std::vector<T>(static_cast<size_t>(count), std::numeric_limits<T>::quiet_NaN());
}

/// Error allowed for sums of a few hundred terms of order one.
template <class T> constexpr double tolerance = sizeof(T) == 4 ? 1e-5 : 1e-12;

/// |got - want| <= bound * (1 + |want|) everywhere; infinities must agree; NaN never passes.
template <class T>
void expect_close(const char *name, const std::vector<T> &got, const Values &want, double bound = tolerance<T>) {
  ASSERT_EQ(got.size(), want.size()) << name;
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(got[i]);
    if (g == want[i])
      continue;
    ASSERT_LE(std::fabs(g - want[i]), bound * (1.0 + std::fabs(want[i])))
        << name << "[" << i << "]: expected " << want[i] << ", got " << g;
  }
}

inline double dot(const Values &a, const Values &b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Compares gradient[i] with (loss(x[i] + step) - loss(x[i] - step)) / (2 step) for every `stride`-th element. `loss`
/// reads x, which is restored.
inline void expect_gradient(const char *name, Values &x, const Values &gradient, const std::function<double()> &loss,
                            size_t stride = 1) {
  constexpr double step = 1e-5;
  ASSERT_EQ(x.size(), gradient.size()) << name;
  for (size_t i = 0; i < x.size(); i += stride) {
    const double kept = x[i];
    x[i] = kept + step;
    const double above = loss();
    x[i] = kept - step;
    const double below = loss();
    x[i] = kept;
    const double want = (above - below) / (2.0 * step);
    ASSERT_LE(std::fabs(gradient[i] - want), 2e-7 * (1.0 + std::fabs(want)))
        << name << "[" << i << "]: expected " << want << ", got " << gradient[i];
  }
}

/// For typed suites: each test runs on both compute types.
using Reals = testing::Types<float, double>;

} // namespace lf::test
