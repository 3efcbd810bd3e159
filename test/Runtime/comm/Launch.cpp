// Launch.cpp - who started the process, and what is refused.
#include "TestProgram.h"
#include "comm/comm.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace lf::rt;
using namespace lf::test;

namespace {

/// The environment of a launcher, for one test.
class Launch : public testing::Test {
protected:
  void set(const char *name, const char *value) {
    setenv(name, value, 1);
    names_.push_back(name);
  }
  void TearDown() override {
    for (const char *name : names_)
      unsetenv(name);
  }
  std::string refusal(const std::vector<int32_t> &mesh, int expected_code = 2) {
    return refusal(TestProgram(mesh), expected_code);
  }
  std::string refusal(const TestProgram &test, int expected_code = 2) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_ranks(&test.program, {}, [](lf_rank &) {}), expected_code);
    return testing::internal::GetCapturedStderr();
  }

private:
  std::vector<const char *> names_;
};

} // namespace

TEST_F(Launch, Alone) {
  EXPECT_FALSE(find_launcher());
  set("LOCAL_RANK", "1"); // where, not who
  EXPECT_FALSE(find_launcher());
  set("SLURM_NTASKS", "4"); // the shell of an allocation
  EXPECT_FALSE(find_launcher());
  TearDown();
  set("SLURM_PROCID", "0");
  set("PMI_RANK", "0");
  EXPECT_FALSE(find_launcher());
}

// Each of several processes would take itself for all ranks.
TEST_F(Launch, RefusesHalfOfAPair) {
  const char *const pairs[][2] = {{"RANK", "WORLD_SIZE"},
                                  {"WORLD_SIZE", "RANK"},
                                  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                  {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}};
  for (auto &pair : pairs) {
    set(pair[0], "1");
    EXPECT_EQ(refusal({2}), "lf: error: expected the environment variable " + std::string(pair[1]) + " beside " + pair[0] +
                                "=1, got none; set both, or unset " + pair[0] +
                                " to run every rank as a thread of this process\n");
    TearDown();
  }
}

TEST_F(Launch, HalfOfAPairBesideAnotherLauncher) {
  set("SLURM_PROCID", "1");
  set("SLURM_NTASKS", "4");
  set("WORLD_SIZE", "4");
  std::optional<Launcher> launcher = find_launcher();
  ASSERT_TRUE(launcher);
  EXPECT_EQ(launcher->variable, "SLURM_NTASKS");
  set("WORLD_SIZE", "8");
  EXPECT_EQ(refusal({4}), "lf: error: expected the environment variable RANK beside WORLD_SIZE=8, got rank 1 of "
                          "SLURM_NTASKS=4 alone; set both, or unset WORLD_SIZE\n");
}

TEST_F(Launch, ReadsEachLauncher) {
  const char *const pairs[][2] = {{"RANK", "WORLD_SIZE"},
                                  {"SLURM_PROCID", "SLURM_NTASKS"},
                                  {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                  {"PMI_RANK", "PMI_SIZE"}};
  for (auto &pair : pairs) {
    set(pair[0], "2");
    set(pair[1], "6");
    std::optional<Launcher> launcher = find_launcher();
    ASSERT_TRUE(launcher) << pair[0];
    EXPECT_EQ(launcher->rank, 2);
    EXPECT_EQ(launcher->world, 6);
    EXPECT_EQ(launcher->variable, pair[1]);
    TearDown();
  }
}

TEST_F(Launch, RefusesAnotherWorld) {
  set("RANK", "0");
  set("WORLD_SIZE", "3");
  TestProgram test({2, 2});
  std::string text = refusal(test);
  EXPECT_NE(
      text.find(
          "expected a launcher to start 4 ranks, the world of this plan, got WORLD_SIZE=3; start 4 processes, compile "
          "for another number of ranks (a multiple of 4 under this --tp and --pp), or start the program alone"),
      std::string::npos)
      << text;
  test.program.dp = 1; // a copy of the model has the two ranks of the other axis
  EXPECT_NE(refusal(test).find("(a multiple of 2 under this --tp and --pp)"), std::string::npos);
  set("WORLD_SIZE", "6");
  text = refusal(test);
  EXPECT_NE(text.find("got WORLD_SIZE=6; start 4 processes, compile with --world-size 6, or start"), std::string::npos)
      << text;
}

TEST_F(Launch, RefusesNonsense) {
  set("RANK", "x");
  set("WORLD_SIZE", "4");
  EXPECT_NE(refusal({4}).find("environment variable RANK to be an integer of 0 or more, got \"x\""), std::string::npos);
  set("RANK", "4");
  EXPECT_NE(refusal({4}).find("expected RANK to be below WORLD_SIZE = 4, got 4"), std::string::npos);
}

TEST_F(Launch, TimeoutOfTheEnvironment) {
  set("LF_TIMEOUT_SECONDS", "7.5");
  TestProgram test({2});
  EXPECT_EQ(run_ranks(&test.program, {}, [](lf_rank &c) { EXPECT_EQ(c.transport->timeout_seconds, 7.5); }), 0);
  LaunchOptions options;
  options.timeout_seconds = 3;
  EXPECT_EQ(run_ranks(&test.program, options, [](lf_rank &c) { EXPECT_EQ(c.transport->timeout_seconds, 3); }), 0);
  set("LF_TIMEOUT_SECONDS", "soon");
  EXPECT_NE(refusal({2}).find("LF_TIMEOUT_SECONDS to be seconds above 0 and below 1e9, got \"soon\""),
            std::string::npos);
}

// Ranks that are threads compute with one thread each; a rank alone may have more.
TEST_F(Launch, HandsOptionsOn) {
  LaunchOptions options;
  options.cpu_threads = 3;
  options.seed = 99;
  for (int32_t world : {1, 2}) {
    TestProgram test({world});
    EXPECT_EQ(run_ranks(&test.program, options,
                        [&](lf_rank &c) {
                          EXPECT_EQ(c.cpu_threads, world == 1 ? 3 : 1);
                          EXPECT_EQ(c.seed, 99u);
                        }),
              0);
  }
}
