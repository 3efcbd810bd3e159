// support.h - what every device test needs: a rank with an open device, arrays there, poisoned outputs, references.
//
// Idea: inputs are fresh in every run (the seed is printed, LF_TEST_SEED repeats one) and uploaded as float; references
// are plain loops in double over the same values.
#pragma once

#include "comm/comm.h"
#include "data/token_source.h"
#include "device/cuda/cuda_device.h"
#include "device/device.h"
#include "lf/runtime.h"
#include "train/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace lf::test {

using Values = std::vector<double>;
using Ids = std::vector<int32_t>;

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

/// The generator of all inputs; one for the process.
std::mt19937 &generator();

/// One fp32 program without parameters, and a rank of it on the first GPU.
class Rank {
public:
  Rank() {
    program.dtype = LF_F32;
    program.micro_batch = 2;
    rank.program = &program;
    rank.seed = 77;
    rt::open_device(rank);
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  operator lf_rank *() { return &rank; }
  lf_program program{};
  lf_rank rank;
};

/// The rank that all kernel tests share.
Rank &shared_rank();

/// An array on the device; each has 256 guard bytes on both sides, which must survive.
template <class T> class Array {
public:
  explicit Array(const std::vector<T> &values) : count_(static_cast<int64_t>(values.size())) {
    std::vector<unsigned char> bytes(at(guard + size() + guard), pattern);
    std::memcpy(bytes.data() + guard, values.data(), at(size()));
    LF_CUDA(cudaMalloc(reinterpret_cast<void **>(&base_), bytes.size()));
    LF_CUDA(cudaMemcpy(base_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { cudaFree(base_); }

  T *data() { return reinterpret_cast<T *>(base_ + guard); }
  /// Waits for the shared rank's compute stream; checks the guards.
  std::vector<T> get() {
    LF_CUDA(cudaDeviceSynchronize());
    std::vector<unsigned char> bytes(at(guard + size() + guard));
    LF_CUDA(cudaMemcpy(bytes.data(), base_, bytes.size(), cudaMemcpyDeviceToHost));
    for (int64_t i = 0; i < guard; ++i)
      EXPECT_TRUE(bytes[at(i)] == pattern && bytes[at(guard + size() + i)] == pattern) << "written outside the array";
    std::vector<T> values(at(count_));
    std::memcpy(values.data(), bytes.data() + guard, at(size()));
    return values;
  }

private:
  static constexpr int64_t guard = 256;
  static constexpr unsigned char pattern = 0xa5;
  int64_t size() const { return count_ * static_cast<int64_t>(sizeof(T)); }
  int64_t count_;
  unsigned char *base_ = nullptr;
};

struct Floats : Array<float> {
  explicit Floats(const Values &v) : Array(std::vector<float>(v.begin(), v.end())) {}
};
struct Ints : Array<int32_t> {
  explicit Ints(const Ids &v) : Array(v) {}
};
/// An output that shows every element that a kernel forgets.
struct Poisoned : Array<float> {
  explicit Poisoned(int64_t count) : Array(std::vector<float>(at(count), std::numeric_limits<float>::quiet_NaN())) {}
};

/// Uniform in [-scale, scale], exact in float.
inline Values random_values(int64_t count, double scale = 1.0) {
  Values x(at(count));
  for (double &e : x)
    e = static_cast<float>(scale * (generator()() / 2147483648.0 - 1.0));
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

/// |got - want| <= bound * (1 + |want|) everywhere; infinities must agree; NaN never passes.
inline void expect_close(const char *name, Array<float> &array, const Values &want, double bound = 1e-5) {
  const std::vector<float> got = array.get();
  ASSERT_EQ(got.size(), want.size()) << name;
  double worst = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double g = static_cast<double>(got[i]);
    if (g == want[i])
      continue;
    const double error = std::fabs(g - want[i]) / (1.0 + std::fabs(want[i]));
    ASSERT_LE(error, bound) << name << "[" << i << "]: expected " << want[i] << ", got " << g;
    worst = std::max(worst, error);
  }
  testing::Test::RecordProperty(name, std::to_string(worst));
}

} // namespace lf::test
