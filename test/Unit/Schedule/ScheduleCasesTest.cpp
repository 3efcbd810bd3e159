//===- ScheduleCasesTest.cpp - 1F1B and interleaved 1F1B, case by case ----===//
//
// Every case of pp_schedule_cases.json: order (and with it the warm-up), peak of live bundles, makespan, or the
// refusal.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/Algorithms.h"
#include "lf/Schedule/Timetable.h"
#include "lf/Schedule/VerifySchedule.h"

#include "lf/Support/Error.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <nlohmann/json.hpp>

using namespace lf;
using nlohmann::json;

namespace {

std::string refusal(ScheduleKind kind, const ScheduleRequest &request) {
  try {
    buildSchedule(kind, request);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::usage);
    return error.what();
  }
  return "accepted";
}

const std::map<std::string, std::string> refusals = {
    {"last_group_smaller_than_pp", "got 3 micro-batches / 2 in a group = 1 remainder 1"},
    {"group_size_out_of_range", "expected (a micro-batch group from|at least [0-9]+ micro-batches)"},
    {"interleaving_needs_pp_gt_1", "expected at least 2 for 2 chunks on a rank, got 1"},
    {"ep_overlap_needs_vpp_when_pp_gt_1", "for --overlap-moe-expert-parallel-comm with a pipeline size \\(--pp\\) of 2"}};

} // namespace

TEST(ScheduleCases, sharedCases) {
  std::ifstream file(std::string(LF_CASES_DIR) + "/pp_schedule_cases.json");
  json cases = json::parse(file).at("cases");
  ASSERT_GT(cases.size(), 20u);
  for (const json &c : cases) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    auto number = [&](const char *name, int64_t unset) {
      return c.at(name).is_null() ? unset : c.at(name).get<int64_t>();
    };
    ScheduleRequest request{c.at("pp"), number("vpp", 1), c.at("microbatches"), number("microbatch_group_size", 0),
                            c.at("overlap_moe_ep_comm")};
    if (c.contains("error")) {
      std::string got = refusal(ScheduleKind::oneForwardOneBackward, request);
      EXPECT_TRUE(std::regex_search(got, std::regex(refusals.at(c.at("error"))))) << got;
      continue;
    }
    PipelineSchedule schedule = buildSchedule(ScheduleKind::oneForwardOneBackward, request);
    json ranks = json::array();
    for (const Program &program : schedule.programs) {
      json rank = json::array();
      for (const Action &a : program)
        rank.push_back({std::string(1, letter(a.pass)), a.microBatch, a.chunk});
      ranks.push_back(rank);
    }
    EXPECT_EQ(ranks, c.at("ranks"));
    Verification verification = verifySchedule(schedule.problem, schedule.programs, schedule.buffers);
    EXPECT_TRUE(verification.ok());
    EXPECT_EQ(json(verification.peakLive), c.at("peak_live_forward_chunks"));
    Timetable times = timetable(schedule.problem, schedule.programs, uniformCosts(schedule.problem, 1, 2));
    EXPECT_EQ(times.makespan, c.at("unit_makespan").get<double>());
  }
}

TEST(ScheduleCases, refusalsShowTheArithmetic) {
  EXPECT_EQ(refusal(ScheduleKind::interleaved, {4, 2, 2, 0, false}),
            "\"--global-batch-size\": expected at least 4 micro-batches (the pipeline size) for the interleaved schedule, got "
            "2; raise it, or use one chunk on a rank");
  EXPECT_EQ(refusal(ScheduleKind::interleaved, {4, 2, 9, 1, false}),
            "\"--microbatch-group-size-per-virtual-pipeline-stage\": expected a micro-batch group from 4 (pipeline size) to "
            "9 (micro-batches), got 1; use 5");
  EXPECT_EQ(refusal(ScheduleKind::interleaved, {4, 2, 9, 0, false}),
            "\"--global-batch-size\": expected the last micro-batch group to be full or to hold at least 4 (pipeline size), "
            "got 9 micro-batches / 4 in a group = 2 remainder 1; make it 8 or 12 micro-batches, or pass "
            "--microbatch-group-size-per-virtual-pipeline-stage 5");
}
