//===- AlgorithmsTest.cpp - Every schedule over a range of sizes ----------===//
//
// All schedules verify with the stated buffering, at the stated peak of memory.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/VerifySchedule.h"

#include "lf/Support/Error.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace lf;

namespace {

Verification verified(ScheduleKind kind, const ScheduleRequest &request) {
  PipelineSchedule schedule = buildSchedule(kind, request);
  return verifySchedule(schedule.problem, schedule.programs, schedule.buffers);
}

std::string refusal(ScheduleKind kind, const ScheduleRequest &request) {
  try {
    buildSchedule(kind, request);
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

void expectIn(const std::string &message, const std::string &part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

} // namespace

TEST(Algorithms, peaksOfAllSizes) {
  for (int64_t p = 1; p <= 9; ++p)
    for (int64_t m = 1; m <= 16; ++m) {
      SCOPED_TRACE("pp " + std::to_string(p) + " micro-batches " + std::to_string(m));
      EXPECT_EQ(verified(ScheduleKind::gpipe, {p, 1, m}).peakLive, std::vector<int64_t>(p, m));
      EXPECT_EQ(verified(ScheduleKind::gpipe, {p, 3, m}).peakLive, std::vector<int64_t>(p, 3 * m));
      std::vector<int64_t> oneByOne = verified(ScheduleKind::oneForwardOneBackward, {p, 1, m}).peakLive;
      for (int64_t r = 0; r < p; ++r)
        EXPECT_EQ(oneByOne[r], std::min(p - r, m));
      // zero bubble: no rank above 1F1B's peak
      for (int64_t peak : verified(ScheduleKind::zeroBubbleH1, {p, 1, m}).peakLive)
        EXPECT_LE(peak, oneByOne[0]);
      if (p == 1)
        continue;
      for (int64_t peak : verified(ScheduleKind::zeroBubbleV, {p, 2, m}).peakLive)
        EXPECT_LE(peak, 2 * oneByOne[0]); // a bundle is of half a stage
      for (int64_t v = 2; v <= 3; ++v)
        for (int64_t group = p; group <= m; ++group) {
          if (m % group != 0 && m % group < p)
            continue;
          for (bool overlap : {false, true}) {
            Verification got = verified(ScheduleKind::interleaved, {p, v, m, group, overlap});
            for (int64_t r = 0; r < p; ++r)
              EXPECT_EQ(got.peakLive[r], std::min(2 * (p - r - 1) + (v - 1) * group + overlap + 1, m * v));
          }
        }
    }
}

TEST(Algorithms, oneBufferAChannelIsEnough) {
  for (int64_t p : {2, 3, 4, 8})
    for (int64_t m : {p, 2 * p, 4 * p}) {
      for (auto kind : {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward, ScheduleKind::zeroBubbleH1}) {
        PipelineSchedule s = buildSchedule(kind, {p, 1, m});
        EXPECT_EQ(buffersNeeded(s.problem, s.programs), 1);
      }
      for (auto kind : {ScheduleKind::interleaved, ScheduleKind::zeroBubbleV}) {
        PipelineSchedule s = buildSchedule(kind, {p, 2, m});
        EXPECT_EQ(buffersNeeded(s.problem, s.programs), 1);
      }
    }
}

TEST(Algorithms, aGroupAboveTheRanksNeedsItsSurplusBuffered) {
  for (int64_t p : {2, 3, 4})
    for (int64_t v : {2, 3})
      for (int64_t group = p; group <= 3 * p; ++group)
        for (int64_t m : {group, 2 * group, 3 * group}) {
          PipelineSchedule s = buildSchedule(ScheduleKind::interleaved, {p, v, m, group});
          EXPECT_EQ(s.buffers, group - p + 1);
          EXPECT_LE(buffersNeeded(s.problem, s.programs), s.buffers);
        }
}

TEST(Algorithms, theSurplusIsReached) {
  PipelineSchedule s = buildSchedule(ScheduleKind::interleaved, {4, 2, 14, 7});
  EXPECT_EQ(s.buffers, 4);
  EXPECT_EQ(buffersNeeded(s.problem, s.programs), 4);
}

TEST(Algorithms, namesRoundTripAndAnUnknownOneIsRefused) {
  for (auto name : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"})
    EXPECT_EQ(scheduleName(parseSchedule(name)), name);
  try {
    parseSchedule("1F1B");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "expected --pipeline-schedule to be one of \"gpipe\", \"1f1b\", \"interleaved\", "
                               "\"zb-h1\", \"zb-v\", got \"1F1B\"");
  }
}

TEST(Algorithms, oneForwardOneBackwardWithChunksIsInterleaved) {
  PipelineSchedule schedule = buildSchedule(ScheduleKind::oneForwardOneBackward, {2, 2, 4});
  EXPECT_EQ(schedule.kind, ScheduleKind::interleaved);
  EXPECT_EQ(schedule.programs, buildSchedule(ScheduleKind::interleaved, {2, 2, 4}).programs);
}

TEST(Algorithms, refusals) {
  expectIn(refusal(ScheduleKind::zeroBubbleH1, {2, 2, 4}),
           "expected 1 chunk on a rank (--vpp) for --pipeline-schedule zb-h1, got 2");
  expectIn(refusal(ScheduleKind::zeroBubbleV, {2, 1, 4}),
           "expected 2 chunks on a rank (--vpp) for --pipeline-schedule zb-v, got 1");
  expectIn(refusal(ScheduleKind::zeroBubbleV, {1, 2, 4}), "expected at least 2 for \"--pipeline-schedule\" \"zb-v\", got 1; raise it");
  expectIn(refusal(ScheduleKind::interleaved, {2, 1, 4}), "with one chunk use \"1f1b\"");
  expectIn(refusal(ScheduleKind::gpipe, {0, 1, 4}), "a pipeline size (--pp) of at least 1, got 0");
  expectIn(refusal(ScheduleKind::gpipe, {1, 1, -2}), "micro-batches of at least 1, got -2");
  expectIn(refusal(ScheduleKind::gpipe, {INT64_MAX, INT64_MAX, INT64_MAX}), "at most 10000000 actions");
  expectIn(refusal(ScheduleKind::zeroBubbleH1, {2, 1, 2, 0, true}), "got \"zb-h1\"");
  expectIn(refusal(ScheduleKind::zeroBubbleV, {2, 2, 2, 0, true}), "got \"zb-v\"");
  expectIn(refusal(ScheduleKind::gpipe, {2, 1, 2, 0, true}), "got \"gpipe\"");
}
