//===- ShiftTest.cpp - Shifted ids and labels ------------------------------===//
//
// Against the plain batch: row s of a batch shifted by n is row s + n of the plain one, up to the end of the sample.
//
//===----------------------------------------------------------------------===//
#include "TokenFiles.h"
#include "comm/comm.h"
#include "data/token_source.h"
#include "rank.h"
#include "train/mtp.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace lf::rt;
using namespace lf::rt::test;

namespace {

struct ShiftTest : testing::TestWithParam<int32_t> {
  ShiftTest() {
    std::vector<int64_t> tokens(65);
    std::iota(tokens.begin(), tokens.end(), 1);
    program.axes = axes;
    program.num_axes = 3;
    program.dp = 2;
    program.cp = 4;
    program.seq_length = 8;
    program.micro_batch = 2;
    program.micro_batches = 2;
    c.program = &program;
    c.coordinates = {0, 1, 0};
    c.tokens = std::make_shared<TokenSource>(std::vector<std::string>{folder.write_u16("t.bin", tokens)}, 8, 8, 1000,
                                             false, 1);
  }
  std::vector<int32_t> load(int32_t shift, bool labels, int32_t cp) {
    c.coordinates[2] = cp;
    std::vector<int32_t> values(4 * 2, -7);
    lf_load_shifted(&c, 1, shift, labels ? nullptr : values.data(), labels ? values.data() : nullptr);
    return values;
  }

  Folder folder;
  lf_axis axes[3] = {{"pp", 1}, {"dp", 2}, {"cp", 2}};
  lf_program program{};
  lf_rank c;
};

TEST_P(ShiftTest, RowsMoveUp) {
  int32_t shift = GetParam();
  for (int32_t cp = 0; cp < 2; ++cp)
    for (bool labels : {false, true}) {
      std::vector<int32_t> values = load(shift, labels, cp);
      for (int32_t s = 0; s < 4; ++s)
        for (int32_t b = 0; b < 2; ++b) {
          // micro-batch 1 of dp rank 1: samples 6 and 7; sample i begins with token 8 i + 1
          int32_t at = 4 * cp + s + shift, token = 8 * (6 + b) + 1 + at + labels;
          EXPECT_EQ(values[static_cast<size_t>(2 * s + b)], at < 8   ? token
                                                            : labels ? -1
                                                                     : 0)
              << "row " << s << ", column " << b << ", cp " << cp << (labels ? ", labels" : ", ids");
        }
    }
}

TEST_P(ShiftTest, CountsOfTheStepAreThoseOfTheLabels) {
  int32_t shift = GetParam();
  double here = 0;
  for (int32_t cp = 0; cp < 2; ++cp)
    for (int32_t label : load(shift, true, cp))
      here += label >= 0;
  // one of 2 micro-batches of one of 2 dp ranks
  EXPECT_EQ(labels_of_step(program, shift), 4 * here);
}

INSTANTIATE_TEST_SUITE_P(Shifts, ShiftTest, testing::Values(0, 1, 2, 7));

} // namespace
