//===- FuzzLayout.cpp - lf-fuzz-layout ------------------------------------===//
//
// lf-fuzz-layout [strings = 10000000] [seed = 1]: exit 0 when every property held, 1 with the string that broke one.
//
//===----------------------------------------------------------------------===//
#include "LayoutFuzz.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  long strings = argc > 1 ? std::atol(argv[1]) : 10'000'000;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (long i = 0; i < strings; ++i) {
    std::string text = lf::test::randomLayout(random);
    std::string broken = lf::test::checkLayoutProperties(text, random);
    if (!broken.empty()) {
      std::printf("string %ld: \"%s\"\nbroken: %s\n", i, text.c_str(), broken.c_str());
      return 1;
    }
  }
  std::printf("%ld strings, every property held\n", strings);
  return 0;
}
