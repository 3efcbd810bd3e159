// MpiMain.cpp - the conformance suite as one rank of an mpi job; with --scenario NAME, a job that must fail.
//
// Idea: GoogleTest runs in every process alike, so that all ranks enter the same job one after another.
#include "TestProgram.h"

#include <gtest/gtest.h>

namespace lf::test {
std::vector<std::vector<int32_t>> meshes() {
  std::optional<lf::rt::Launcher> launcher = lf::rt::find_launcher();
  std::vector<std::vector<int32_t>> all = {{launcher ? launcher->world : 1}};
  if (launcher && launcher->world % 2 == 0 && launcher->world > 2)
    all.push_back({launcher->world / 2, 2});
  return all;
}
} // namespace lf::test

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "--scenario")
    return lf::test::run_scenario(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  if (!lf::rt::find_launcher()) {
    fprintf(stderr, "expected to be started by mpiexec, got no launcher's environment\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
