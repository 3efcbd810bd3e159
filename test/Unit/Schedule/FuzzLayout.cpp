//===- FuzzLayout.cpp - lf-fuzz-layout ------------------------------------===//
//
// lf-fuzz-layout [strings = 10000000] [seed = 1]: exit 0 when every property held, 1 with the string that broke one. Progress
// goes to standard error, a line before each million, so that a crash is near a known string.
//
//===----------------------------------------------------------------------===//
#include "LayoutFuzz.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  long strings = argc > 1 ? std::atol(argv[1]) : 10'000'000;
  lf::test::LayoutStrings source(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  lf::test::LayoutTally tally;
  for (long i = 0; i < strings; ++i) {
    if (i % 1'000'000 == 0)
      std::fprintf(stderr, "from string %ld on\n", i);
    const std::string &text = source.next();
    std::string broken = lf::test::checkLayoutProperties(text, source.random, tally);
    if (!broken.empty()) {
      std::printf("string %ld: \"%s\"\nbroken: %s\n", i, text.c_str(), broken.c_str());
      return 1;
    }
  }
  std::printf("%ld strings, every property held; %ld were layouts, %ld of them legal for their plan\n", strings,
              static_cast<long>(tally.parsed), static_cast<long>(tally.resolved));
  return 0;
}
