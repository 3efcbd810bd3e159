// support.h - what every device test needs: a rank with an open device, arrays there, poisoned outputs, references.
//
// Idea: inputs are fresh in every run (the seed is printed, LF_TEST_SEED repeats one) and exact in the real type that
// is tested; references are plain loops in double over the same values.
#pragma once

#include "comm/comm.h"
#include "data/token_source.h"
#include "device/cuda/cuda_device.h"
#include "device/device.h"
#include "lf/runtime.h"
#include "train/device.h"

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace lf::test {

using Values = std::vector<double>;
using Ids = std::vector<int32_t>;
using Bf16 = __nv_bfloat16;

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

/// The generator of all inputs; one for the process.
std::mt19937 &generator();

/// A program without parameters, and a rank of it on the first GPU.
class Rank {
public:
  explicit Rank(lf_dtype dtype) {
    program.dtype = LF_F32;
    program.micro_batch = 2;
    rank.program = &program;
    rank.seed = 77;
    rt::open_device(rank);
    program.dtype = dtype;
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  operator lf_rank *() { return &rank; }
  lf_program program{};
  lf_rank rank;
};

/// The rank that all kernel tests of a real type share.
Rank &shared_rank(lf_dtype dtype = LF_F32);

template <class T> constexpr lf_dtype dtype_of() { return std::is_same_v<T, Bf16> ? LF_BF16 : LF_F32; }

/// Calls body(T{}, rank of T) for both real types.
template <class Body> void for_reals(Body &&body) {
  {
    SCOPED_TRACE("float32");
    body(float{}, shared_rank(LF_F32));
  }
  {
    SCOPED_TRACE("bfloat16");
    body(Bf16{}, shared_rank(LF_BF16));
  }
}

// ---- Arrays -------------------------------------------------------------------------------------------------------

/// x in T: to nearest even.
template <class T> T to(double x) {
  if constexpr (std::is_same_v<T, Bf16>)
    return __float2bfloat16_rn(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

inline double from(float x) { return x; }
inline double from(Bf16 x) { return __bfloat162float(x); }

template <class T> double rounded(double x) { return from(to<T>(x)); }

template <class T> std::vector<T> all_to(const Values &values) {
  std::vector<T> converted(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    converted[i] = to<T>(values[i]);
  return converted;
}

/// An array on the device, `shift` elements beyond an address on 256 bytes; the guards on both sides must survive.
template <class T> class Array {
public:
  explicit Array(const std::vector<T> &values, int64_t shift = 0)
      : count_(static_cast<int64_t>(values.size())), guard_(256 + shift * int64_t(sizeof(T))) {
    std::vector<unsigned char> bytes(at(guard_ + size() + guard_), pattern);
    std::memcpy(bytes.data() + guard_, values.data(), at(size()));
    LF_CUDA(cudaMalloc(reinterpret_cast<void **>(&base_), bytes.size()));
    LF_CUDA(cudaMemcpy(base_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    LF_CUDA(cudaDeviceSynchronize()); // the compute stream does not wait for the copy
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { cudaFree(base_); }

  T *data() { return reinterpret_cast<T *>(base_ + guard_); }
  int64_t count() const { return count_; }
  /// Waits for the device; checks the guards.
  std::vector<T> get() {
    LF_CUDA(cudaDeviceSynchronize());
    std::vector<unsigned char> bytes(at(guard_ + size() + guard_));
    LF_CUDA(cudaMemcpy(bytes.data(), base_, bytes.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < guard_; ++i)
      if (bytes[at(i)] != pattern || bytes[at(guard_ + size() + i)] != pattern) {
        ADD_FAILURE() << "written outside the array, " << i << " bytes into a guard";
        break;
      }
    std::vector<T> values(at(count_));
    std::memcpy(values.data(), bytes.data() + guard_, at(size()));
    return values;
  }

private:
  static constexpr unsigned char pattern = 0xa5;
  int64_t size() const { return count_ * static_cast<int64_t>(sizeof(T)); }
  int64_t count_, guard_;
  unsigned char *base_ = nullptr;
};

template <class T> struct Reals : Array<T> {
  explicit Reals(const Values &v, int64_t shift = 0) : Array<T>(all_to<T>(v), shift) {}
};
using Floats = Reals<float>;
struct Ints : Array<int32_t> {
  explicit Ints(const Ids &v) : Array(v) {}
};
/// An output that shows every element that a kernel forgets.
template <class T> struct Poisoned : Array<T> {
  explicit Poisoned(int64_t count, int64_t shift = 0)
      : Array<T>(std::vector<T>(at(count), to<T>(std::numeric_limits<double>::quiet_NaN())), shift) {}
};

// ---- Inputs -------------------------------------------------------------------------------------------------------

/// Uniform in [-scale, scale], exact in T.
template <class T = float> Values random_values(int64_t count, double scale = 1.0) {
  Values x(at(count));
  for (double &e : x)
    e = rounded<T>(scale * (generator()() / 2147483648.0 - 1.0));
  return x;
}

inline Ids random_ids(int64_t count, uint32_t below) {
  Ids ids(at(count));
  for (int32_t &e : ids)
    e = static_cast<int32_t>(generator()() % below);
  return ids;
}

inline Ids iota(int64_t count, int32_t first = 0) {
  Ids ids(at(count));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = first + static_cast<int32_t>(i);
  return ids;
}

// ---- Expectations -------------------------------------------------------------------------------------------------

/// |got - want| <= bound * (scale + |want|) everywhere, and for a bfloat16 2^-8 |want| more, its own rounding; `scale`
/// is that of the numbers whose sum the result is. Infinities must agree; NaN never passes. Bound 0 means equal.
template <class T>
void expect_close(const char *name, Array<T> &array, const Values &want, double bound = 1e-5, double scale = 1.0) {
  const std::vector<T> got = array.get();
  ASSERT_EQ(got.size(), want.size()) << name;
  const double rounding = std::is_same_v<T, Bf16> && bound > 0.0 ? 1.0 / 256 : 0.0;
  double worst = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = from(got[i]);
    if (g == want[i])
      continue;
    const double size = std::fabs(want[i]), error = std::fabs(g - want[i]);
    ASSERT_LE(error, bound * (scale + size) + rounding * size)
        << name << "[" << i << "]: expected " << want[i] << ", got " << g;
    worst = std::max(worst, error / (scale + size));
  }
  testing::Test::RecordProperty(name, std::to_string(worst));
}

/// For attention with intermediates in bfloat16, of inputs of unit size, in rows of `row` channels. The error's norm is at
/// most `bound` of the result's. An element is off by at most 2^-7 of itself, 1/24 of the root mean square of its row
/// (eight standard deviations of probabilities that were rounded), and 2^-9: the sums of d_o * o take an o that has been
/// rounded, about 2^-9 / 5 of unit inputs for a row of few keys, whatever is left of it in the difference.
template <class T>
void expect_near(const char *name, Array<T> &array, const Values &want, int64_t row, double bound = 6e-3) {
  const std::vector<T> got = array.get();
  ASSERT_EQ(got.size(), want.size()) << name;
  double square = 0.0, wrong = 0.0;
  for (double x : want)
    square += x * x;
  double mean = 0.0; // of the row
  for (size_t i = 0; i < got.size(); ++i) {
    if (i % at(row) == 0) {
      mean = 0.0;
      for (size_t j = i; j < std::min(i + at(row), want.size()); ++j)
        mean += want[j] * want[j];
      mean = std::sqrt(mean / static_cast<double>(row));
    }
    const double error = std::fabs(from(got[i]) - want[i]);
    ASSERT_LE(error, std::fabs(want[i]) / 128 + mean / 24 + 1.0 / 512)
        << name << "[" << i << "]: expected " << want[i] << ", got " << from(got[i]);
    wrong += error * error;
  }
  const double size = std::sqrt(static_cast<double>(std::max<size_t>(want.size(), 1)));
  EXPECT_LE(std::sqrt(wrong), bound * std::sqrt(square) + 1e-5 * size) << name;
  testing::Test::RecordProperty(name, std::to_string(std::sqrt(wrong / std::max(square, 1e-30))));
}

/// The elements as doubles.
template <class T> Values values_of(Array<T> &array) {
  Values values;
  for (T x : array.get())
    values.push_back(from(x));
  return values;
}

/// The same bits.
template <class T> void expect_same(const char *name, Array<T> &a, Array<T> &b) {
  const std::vector<T> x = a.get(), y = b.get();
  ASSERT_EQ(x.size(), y.size()) << name;
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::memcmp(&x[i], &y[i], sizeof(T)), 0)
        << name << "[" << i << "]: expected the same bits in every run, got " << from(x[i]) << " and " << from(y[i]);
}

} // namespace lf::test
