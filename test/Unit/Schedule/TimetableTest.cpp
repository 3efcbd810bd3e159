//===- TimetableTest.cpp - Bubbles, timetables, traces --------------------===//
//
// The bubbles that the schedules promise, and the two forms in which a timetable is shown.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Timetable.h"
#include "lf/Schedule/Algorithms.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace lf;

namespace {

struct Timed {
  PipelineSchedule schedule;
  Timetable times;
};

Timed timed(ScheduleKind kind, const ScheduleRequest &request, double f, double b, double w = 0, double transfer = 0) {
  PipelineSchedule schedule = buildSchedule(kind, request);
  Timetable times = timetable(schedule.problem, schedule.programs, uniformCosts(schedule.problem, f, b, w, transfer));
  return {schedule, times};
}

} // namespace

TEST(Timetable, bubbleOfGPipeAndOneForwardOneBackward) {
  for (int64_t p : {1, 2, 4, 8})
    for (int64_t m : {p, 2 * p, 3 * p + 1})
      for (auto kind : {ScheduleKind::gpipe, ScheduleKind::oneForwardOneBackward})
        for (int64_t r = 0; r < p; ++r)
          EXPECT_DOUBLE_EQ(timed(kind, {p, 1, m}, 1, 2).times.bubble(r), (p - 1) * 3.0) << p << " " << m;
}

TEST(Timetable, interleavingDividesTheBubble) {
  // v chunks of a v-th of the time: (p - 1) (F + B) / v
  for (int64_t p : {2, 4, 8})
    for (int64_t v : {2, 4})
      for (int64_t m : {p, 2 * p, 3 * p}) {
        Timed t = timed(ScheduleKind::interleaved, {p, v, m}, 1.0 / v, 2.0 / v);
        EXPECT_DOUBLE_EQ(t.times.bubble(0), (p - 1) * 3.0 / v) << p << " " << v << " " << m;
      }
}

TEST(Timetable, bubbleOfZeroBubbleH1) {
  // the whole backward is 2 F: half of it for the inputs, half for the weights
  for (int64_t p : {1, 2, 3, 4, 8})
    for (int64_t m : {p, 2 * p, 3 * p + 1})
      for (auto [f, b, w] : {std::array{1.0, 1.0, 1.0}, std::array{2.0, 2.0, 1.0}, std::array{3.0, 3.0, 2.0},
                             std::array{3.0, 4.0, 2.0}}) {
        Timed t = timed(ScheduleKind::zeroBubbleH1, {p, 1, m}, f, b, w);
        EXPECT_DOUBLE_EQ(t.times.bubble(0), (p - 1) * (f + b - w)) << p << " " << m << " " << f << b << w;
      }
}

TEST(Timetable, zeroBubbleVLeavesNoIdleTimeInside) {
  for (int64_t p : {2, 3, 4, 8})
    for (int64_t m : {2 * p - 1, 2 * p, 4 * p + 1}) {
      Timed t = timed(ScheduleKind::zeroBubbleV, {p, 2, m}, 1, 1, 1);
      for (int64_t r = 0; r < p; ++r)
        EXPECT_DOUBLE_EQ(t.times.innerIdle(r), 0) << p << " " << m << " rank " << r;
    }
}

TEST(Timetable, bubbleFraction) {
  Timed t = timed(ScheduleKind::oneForwardOneBackward, {4, 1, 9}, 1, 2);
  EXPECT_DOUBLE_EQ(t.times.bubbleFraction(), 3.0 / (9 + 3)); // (p - 1) / (m + p - 1)
  EXPECT_EQ(timed(ScheduleKind::gpipe, {1, 1, 5}, 1, 2).times.bubbleFraction(), 0);
}

TEST(Timetable, transfersDelayTheNeighbour) {
  Timed t = timed(ScheduleKind::gpipe, {3, 1, 1}, 1, 2, 0, 0.25);
  EXPECT_DOUBLE_EQ(t.times.makespan, 3 * 3 + 4 * 0.25);
  // no transfer where the V turns; both ranks run the W of chunk 1 before the B of chunk 0
  EXPECT_DOUBLE_EQ(timed(ScheduleKind::zeroBubbleV, {2, 2, 1}, 1, 1, 1, 0.25).times.makespan,
                   4 + 4 + 2 + 1 + 4 * 0.25 - 1);
}

TEST(Timetable, aReceivePostedAheadHidesTheTransfer) {
  // rank 1: F0 F1 ... each F takes 2, its input is made each 1: posted while F0 runs, F1's input travels meanwhile
  PipelineSchedule s = buildSchedule(ScheduleKind::gpipe, {2, 1, 3});
  ScheduleCosts costs = uniformCosts(s.problem, 1, 1, 0, 0.5);
  costs.pass[1][0] = 2;
  auto start = [&](Receives receives, int64_t action) {
    return timetable(s.problem, s.programs, costs, receives).spans[1][action].start;
  };
  EXPECT_DOUBLE_EQ(start(Receives::ahead, 0), 1.5);
  EXPECT_DOUBLE_EQ(start(Receives::ahead, 1), 3.5);
  EXPECT_DOUBLE_EQ(start(Receives::ahead, 2), 5.5);
  EXPECT_DOUBLE_EQ(start(Receives::atUse, 0), 1.5);
  EXPECT_DOUBLE_EQ(start(Receives::atUse, 1), 4.0); // asked for at 3.5, when F0 is over
  EXPECT_DOUBLE_EQ(start(Receives::atUse, 2), 6.5);
}

TEST(Timetable, stagesOfTheirOwnCost) {
  PipelineSchedule s = buildSchedule(ScheduleKind::gpipe, {2, 1, 2});
  ScheduleCosts costs = uniformCosts(s.problem, 1, 2);
  costs.pass[1] = {5, 7, 0};
  Timetable times = timetable(s.problem, s.programs, costs);
  EXPECT_DOUBLE_EQ(times.makespan, 1 + 2 * 5 + 2 * 7 + 2);
  EXPECT_DOUBLE_EQ(times.busy[1], 24);
}

TEST(Timetable, unverifiedProgramsAreAnErrorNotAHang) {
  PipelineSchedule s = buildSchedule(ScheduleKind::gpipe, {2, 1, 2});
  s.programs[0].clear();
  EXPECT_THROW(timetable(s.problem, s.programs, uniformCosts(s.problem, 1, 2)), std::logic_error);
}

TEST(Timetable, printsRowsOfRanks) {
  Timed t = timed(ScheduleKind::oneForwardOneBackward, {3, 1, 4}, 1, 2);
  EXPECT_EQ(printTimetable(t.schedule.problem, t.schedule.programs, t.times),
            "rank 0 | F0 F1 F2 .  .  .  .  B0 -  F3 B1 -  .  B2 -  .  B3 -\n"
            "rank 1 | .  F0 F1 .  .  B0 -  F2 B1 -  F3 B2 -  .  B3 -  .  .\n"
            "rank 2 | .  .  F0 B0 -  F1 B1 -  F2 B2 -  F3 B3 -  .  .  .  .\n");
  EXPECT_EQ(printTimetable(t.schedule.problem, t.schedule.programs, t.times, 0, 4), "rank 0 | F0 F1 F2 .\n"
                                                                                    "rank 1 | .  F0 F1 .\n"
                                                                                    "rank 2 | .  .  F0 B0\n"
                                                                                    "(14 more columns)\n");
}

// The embedding alone on rank 0: its passes are a millionth of the others and must not set the columns.
TEST(Timetable, aStageThatCostsNearlyNothingHasColumnsToo) {
  PipelineSchedule s = buildSchedule(ScheduleKind::oneForwardOneBackward, {2, 1, 2});
  ScheduleCosts costs = uniformCosts(s.problem, 1, 2);
  costs.pass[0] = {1e-6, 2e-6, 0};
  EXPECT_EQ(printTimetable(s.problem, s.programs, timetable(s.problem, s.programs, costs)),
            "rank 0 | F0 F1 .  B0 .  .  B1\n"
            "rank 1 | F0 B0 -  F1 B1 -  .\n");
}

TEST(Timetable, traceShowsPosts) {
  PipelineSchedule s = buildSchedule(ScheduleKind::interleaved, {2, 2, 2});
  Timetable times = timetable(s.problem, s.programs, uniformCosts(s.problem, 1, 2, 0, 0.5), s.receives);
  auto posts = [&](Receives receives) {
    std::vector<std::string> names;
    nlohmann::json trace = nlohmann::json::parse(planTrace(s.problem, s.programs, times, 1, receives));
    for (const auto &event : trace.at("traceEvents"))
      if (event.at("ph") == "X" && event.at("tid") == 3 && std::string(event.at("name")).starts_with("post ")) // of rank 1
        names.push_back(std::string(event.at("name")) + " at " + std::to_string(int(event.at("ts"))));
    return names;
  };
  EXPECT_TRUE(posts(Receives::atUse).empty());
  std::vector<std::string> ahead = posts(Receives::ahead);
  ASSERT_EQ(ahead.size(), 6u); // four F and two B come from rank 0
  EXPECT_EQ(ahead[0], "post F0 at 0");
  EXPECT_EQ(ahead[1], "post F1 at 1"); // while F0 runs, from 1.5 on
}

// What a run does not do has no slice: the weight pass of a stage that has only the head.
TEST(Timetable, traceLeavesOutWeightPassesWithoutWork) {
  PipelineSchedule s = buildSchedule(ScheduleKind::zeroBubbleH1, {2, 1, 3});
  ScheduleCosts costs = uniformCosts(s.problem, 1, 1, 1, 0);
  costs.pass[1][2] = 0;
  nlohmann::json trace = nlohmann::json::parse(planTrace(s.problem, s.programs, timetable(s.problem, s.programs, costs), 1));
  int weights = 0;
  for (const auto &event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("cat") == "W") {
      ++weights;
      EXPECT_EQ(event.at("args").at("stage"), 0);
    }
  EXPECT_EQ(weights, 3);
}

TEST(Timetable, traceHasASliceAnActionAndAnArrowAMessage) {
  Timed t = timed(ScheduleKind::zeroBubbleV, {2, 2, 3}, 1, 1, 1, 0.5);
  nlohmann::json trace = nlohmann::json::parse(planTrace(t.schedule.problem, t.schedule.programs, t.times, 1000));
  int slices = 0, starts = 0, ends = 0, sends = 0, receives = 0;
  std::vector<std::string> tracks;
  for (const auto &event : trace.at("traceEvents")) {
    std::string kind = event.at("ph");
    if (event.at("name") == "thread_name")
      tracks.push_back(event.at("args").at("name"));
    bool message = kind == "X" && event.at("cat") == "message";
    sends += message && std::string(event.at("name")).starts_with("send ");
    receives += message && std::string(event.at("name")).starts_with("recv ");
    slices += kind == "X" && !message;
    if (message)
      EXPECT_EQ(int(event.at("tid")) % 2, 1);
    starts += kind == "s";
    ends += kind == "f";
    if (kind == "X" && !message && event.at("name") == "F0" && event.at("args").at("stage") == 1) {
      EXPECT_EQ(event.at("tid"), 2);
      EXPECT_EQ(event.at("ts"), 1500.0);
      EXPECT_EQ(event.at("dur"), 1000.0);
    }
    if (message && event.at("args").at("stage") == 1 && event.at("name") == "recv F0") { // rank 1 has nothing before it
      EXPECT_EQ(event.at("tid"), 3);
      EXPECT_EQ(event.at("ts"), 0.0);
      EXPECT_EQ(event.at("dur"), 1500.0);
      EXPECT_EQ(event.at("args").at("micro_batch"), 0);
      EXPECT_EQ(event.at("args").at("chunk"), 0);
    }
    if (message && event.at("args").at("stage") == 1 && event.at("name") == "send B0")
      EXPECT_EQ(event.at("tid"), 3);
  }
  EXPECT_EQ(slices, 2 * 2 * 3 * 3);
  EXPECT_EQ(starts, 2 * 2 * 3); // edges 0-1 and 2-3, both directions, three micro-batches
  EXPECT_EQ(ends, starts);
  EXPECT_EQ(sends, starts);
  EXPECT_EQ(receives, starts);
  EXPECT_EQ(tracks, (std::vector<std::string>{"pp0 passes", "pp0 messages", "pp1 passes", "pp1 messages"}));
}
