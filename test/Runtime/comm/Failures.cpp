// Failures.cpp - a job of threads that goes wrong stops, with the right code, and says who is at fault.
//
// Idea: run the scenario, capture stderr, look for the names.
#include "TestProgram.h"
#include "context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

using namespace lf::rt;
using namespace lf::test;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

namespace lf::test {
// Worlds 1, 2, 3, 4, 6 and 8; groups over one axis, over several, over axes that are not neighbours.
std::vector<std::vector<int32_t>> meshes() { return {{1}, {2}, {3}, {4}, {2, 2}, {1, 3}, {3, 2}, {8}, {2, 2, 2}}; }
} // namespace lf::test

namespace {

struct Outcome {
  int code;
  std::string text;
};
template <class Run> Outcome captured(Run run) {
  CaptureStderr();
  int code = run();
  return {code, GetCapturedStderr()};
}
Outcome scenario(const std::string &name) {
  return captured([&] { return run_scenario(name); });
}
void expect_says(const Outcome &outcome, const std::string &part) {
  EXPECT_NE(outcome.text.find(part), std::string::npos) << "expected: " << part << "\ngot: " << outcome.text;
}

} // namespace

// The one that has not come is named, all ranks tell what they wait for, and the late one what it does.
TEST(Failures, TimeoutNamesTheLateRank) {
  Outcome o = scenario("late");
  EXPECT_EQ(o.code, 5);
  expect_says(o, "expected rank 2 to arrive within 0.80 s at all_reduce \"grads\" of comm \"world\", count 16, in "
                 "decoder.bwd, layer 3, micro-batch 1, got nothing");
  expect_says(o, "it was waiting for rank 2 at all_reduce \"grads\"");
  expect_says(o, "last operations of rank 0");
  expect_says(o,
              "all_gather \"warm up\" of comm \"world\", count 0, in decoder.bwd, layer 3, micro-batch 1: done after");
  expect_says(o, "last operations of rank 2");
  expect_says(o, "enter slow.bwd, layer 7, micro-batch 1: issued");
}

// A receive in two parts that is used wrongly stops the job at the call that is wrong.
TEST(Failures, PostedReceivesAreWaitedForOnce) {
  const std::pair<const char *, const char *> cases[] = {
      {"posted-not-at-all", "expected the receive of \"activation\" from rank 0, tag 3, to be posted before it is waited "
                            "for, got no post"},
      {"posted-elsewhere", "expected a wait for the receive of \"activation\" from rank 0, tag 3, with the place, count and "
                           "type of its post (count 16), got other ones (count 16)"},
      {"posted-and-passed", "expected the receive of \"activation\" from rank 0, tag 3, to be waited for before another one "
                            "of that rank and tag, got recv \"other\""},
      {"posted-and-left", "expected the receive of \"activation\" from rank 0, tag 3, to be waited for before the end of the "
                          "step that posted it, got the end"},
      {"posted-other-size", "expected 16 elements of 4 bytes for recv \"activation\" from rank 0, tag 3, got 8 of 4 bytes"}};
  for (auto [name, says] : cases) {
    Outcome o = scenario(name);
    EXPECT_EQ(o.code, 5) << name;
    expect_says(o, says);
  }
}

TEST(Failures, FailingRankGivesItsCode) {
  Outcome o = scenario("failing");
  EXPECT_EQ(o.code, 4);
  expect_says(o, "lf: error: rank 1: expected tokens below 100, got 4711\n");
  expect_says(o, "rank 3 stopped, since rank 1 failed; it was waiting for rank 1 at recv \"activation\" from rank 1");
  expect_says(o, "rank 0 stopped, since rank 1 failed; it was waiting for ranks");
}

TEST(Failures, MismatchNamesBothCollectives) {
  Outcome o = scenario("mismatch");
  EXPECT_EQ(o.code, 5);
  expect_says(
      o, "expected all ranks of comm \"world\" to issue the same collective as number 1, got all_gather \"x\" "
         "(count 4 of 4 bytes, in start) on rank 0, all_reduce \"x\" sum (count 4 of 4 bytes, in start) on rank 1");
}

TEST(Failures, ReceiveOfWhatIsNotSent) {
  Outcome o = scenario("unsent");
  EXPECT_EQ(o.code, 5);
  expect_says(o, "expected rank 1 to arrive within 0.80 s at recv \"activation\" from rank 1, tag 3, count 16");
}

// Same kind, other count, other name, other operator: each is a disagreement.
TEST(Failures, MismatchInCountNameAndOperator) {
  TestProgram test({2});
  auto run = [&](int64_t count, const char *what, lf_reduction op) {
    return captured([&] {
      return run_ranks(&test.program, {}, [&](lf_rank &c) {
        std::vector<float> x(5000), y(5000);
        lf_all_reduce(&c, c.rank ? what : "x", x.data(), y.data(), c.rank ? count : 2000, c.program->dtype, c.rank ? op : LF_SUM, 0, 0);
      });
    });
  };
  EXPECT_EQ(run(2000, "x", LF_SUM).code, 0);
  EXPECT_EQ(run(2001, "x", LF_SUM).code, 5);
  EXPECT_EQ(run(3, "x", LF_SUM).code, 5);
  EXPECT_EQ(run(2000, "y", LF_SUM).code, 5);
  Outcome o = run(2000, "x", LF_MAX);
  EXPECT_EQ(o.code, 5);
  expect_says(o, "all_reduce \"x\" sum (count 2000 of 4 bytes, in start) on rank 0, all_reduce \"x\" max");
}

TEST(Failures, MessageOfAnotherSize) {
  TestProgram test({2});
  Outcome o = captured([&] {
    return run_ranks(&test.program, {}, [](lf_rank &c) {
      float x[8] = {};
      c.rank ? lf_recv(&c, "dy", x, 7, c.program->dtype, 0, 1) : lf_send(&c, "y", x, 8, c.program->dtype, 1, 1);
    });
  });
  EXPECT_EQ(o.code, 5);
  expect_says(o, "expected 7 elements of 4 bytes for recv \"dy\" from rank 0, tag 1, got 8 of 4 bytes sent as \"y\"");
}

// All ranks refuse the same thing: said once.
TEST(Failures, CommonFailureIsSaidOnce) {
  TestProgram test({4});
  Outcome o = captured([&] {
    return run_ranks(&test.program, {}, [](lf_rank &) { throw Failure{2, "expected --lr, got nothing"}; });
  });
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.text.find("expected --lr"), o.text.rfind("expected --lr")) << o.text;
}

TEST(Failures, ForeignExceptionsAndBadArguments) {
  TestProgram test({2});
  auto code = [&](const std::function<void(lf_rank &)> &body) {
    return captured([&] { return run_ranks(&test.program, {}, body); });
  };
  Outcome o = code([](lf_rank &) { throw std::runtime_error("odd"); });
  EXPECT_EQ(o.code, 5);
  expect_says(o, "got \"odd\"");
  EXPECT_EQ(code([](lf_rank &) { throw std::bad_alloc(); }).code, 3);
  float x = 0;
  o = code([&](lf_rank &c) { lf_all_gather(&c, "x", &x, &x, 1, c.program->dtype, 9, 0); });
  EXPECT_EQ(o.code, 5);
  expect_says(o, "expected the comm of all_gather \"x\" to be below 1, got 9");
  o = code([&](lf_rank &c) { lf_send(&c, "x", &x, 1, c.program->dtype, 2, 0); });
  expect_says(o, "below 2, got 2");
  o = code([&](lf_rank &c) { lf_send(&c, "x", &x, 1, c.program->dtype, c.pp, 0); });
  expect_says(o, "to be another rank below 2");
  o = code([&](lf_rank &c) { lf_wait(&c, 0, lf_record(&c, 1) + 1); });
  expect_says(o, "one of the 1 events recorded so far, got event 1");
}

// A rank that never stops cannot keep the job alive: the process ends with the failure's code.
TEST(FailuresDeathTest, StuckRankIsLeftBehind) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto run = [] {
    TestProgram test({2});
    LaunchOptions options;
    options.grace_seconds = 0.1;
    std::atomic<bool> busy{false};
    run_ranks(&test.program, options, [&](lf_rank &c) {
      if (c.rank == 0) {
        while (!busy)
          std::this_thread::yield();
        throw Failure{6, "expected a finite loss, got nan"};
      }
      lf_enter(&c, "endless", 1, 2);
      busy = true;
      for (;;)
        std::this_thread::sleep_for(std::chrono::seconds(1));
    });
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(6), "rank 1 did not stop, since rank 0 failed; it computes");
}
