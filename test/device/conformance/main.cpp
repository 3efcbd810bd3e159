// main.cpp - runs the device tests; exit code 77 when there is no device to run them on.
#include "support.h"

#include <cstdio>
#include <cstdlib>

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

static Rank *rank_of_all = nullptr;
Rank &shared_rank() { return *rank_of_all; }

} // namespace lf::test

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    lf::test::rank_of_all = new lf::test::Rank;
  } catch (const lf::rt::Failure &failure) {
    std::fprintf(stderr, "error: %s\n", failure.message.c_str());
    return failure.code == 2 ? 77 : 1;
  }
  std::printf("LF_TEST_SEED=%u\n", lf::test::seed());
  int result = RUN_ALL_TESTS();
  delete lf::test::rank_of_all;
  return result;
}
