// main.cpp - runs the device tests; exit code 77 when there is no device to run them on.
//   lf-device-conformance [GoogleTest's options]
//   lf-device-conformance --speed   prints what the kernels of a bfloat16 program reach, and tests nothing
#include "speed.h"
#include "support.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lf::test {

static uint32_t seed() {
  static const uint32_t chosen = [] {
    const char *text = std::getenv("LF_TEST_SEED");
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : std::random_device()();
  }();
  return chosen;
}

std::mt19937 &generator() {
  static std::mt19937 only(seed());
  return only;
}

static std::unique_ptr<Rank> ranks[2]; // float32, bfloat16
Rank &shared_rank(lf_dtype dtype) { return *ranks[dtype == LF_BF16]; }

} // namespace lf::test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    lf::test::ranks[0] = std::make_unique<lf::test::Rank>(LF_F32);
    lf::test::ranks[1] = std::make_unique<lf::test::Rank>(LF_BF16);
    if (argc > 1 && std::strcmp(argv[1], "--speed") == 0) {
      lf::test::print_speed();
      return 0;
    }
  } catch (const lf::rt::Failure &failure) {
    std::fprintf(stderr, "error: %s\n", failure.message.c_str());
    return failure.code == 2 ? 77 : 1;
  }
  std::printf("LF_TEST_SEED=%u\n", lf::test::seed());
  int result = RUN_ALL_TESTS();
  for (std::unique_ptr<lf::test::Rank> &rank : lf::test::ranks)
    rank.reset();
  return result;
}
