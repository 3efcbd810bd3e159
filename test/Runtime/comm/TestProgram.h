// TestProgram.h - a program that is only a mesh and its groups, for tests of communication.
//
// Idea: axes "a", "b", ... of the given sizes and one comm for every non-empty set of them, the whole set being
// "world".
#pragma once

#include "launch.h"

#include <string>
#include <vector>

namespace lf::test {

struct TestProgram {
  explicit TestProgram(const std::vector<int32_t> &sizes, lf_dtype dtype = LF_F32) {
    static const char *const letters[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < sizes.size(); ++i)
      axes.push_back({letters[i], sizes[i]});
    const lf_axes all = (lf_axes(1) << sizes.size()) - 1;
    names.reserve(all + 1); // comms point into it
    for (lf_axes mask = 1; mask <= all; ++mask) {
      std::string name;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (mask >> i & 1)
          name += (name.empty() ? "" : "+") + std::string(letters[i]);
      names.push_back(mask == all ? "world" : name);
      comms.push_back({names.back().c_str(), mask});
    }
    program.name = "test";
    program.dtype = dtype;
    program.axes = axes.data();
    program.num_axes = static_cast<int32_t>(axes.size());
    program.pp = 1; // the first axis
    program.comms = comms.data();
    program.num_comms = static_cast<int32_t>(comms.size());
    program.world_comm = program.num_comms - 1;
  }
  TestProgram(const TestProgram &) = delete;

  std::vector<lf_axis> axes;
  std::vector<std::string> names;
  std::vector<lf_comm> comms;
  lf_program program{};
};

/// Meshes that this test program can run: those of the launcher's world, or, as threads, of worlds 1 to 8.
std::vector<std::vector<int32_t>> meshes();

/// Jobs that fail, as functions of the rank; each returns the exit code of run_ranks.
int run_scenario(const std::string &name);

/// A number that depends on all of its arguments and whose sums depend on their order.
template <class Real> Real value(int32_t rank, int64_t i) {
  uint32_t h = static_cast<uint32_t>(rank * 7919 + i * 104729 + 13) * 2654435761u;
  Real mantissa = static_cast<Real>(h >> 8) / Real(1 << 24) - Real(0.5);
  mantissa += static_cast<Real>(h * 2246822519u) / Real(int64_t(1) << 55); // low bits, for double
  return mantissa * static_cast<Real>(1 << (h & 15));
}

} // namespace lf::test
