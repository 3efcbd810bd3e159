//===- FailureTest.cpp - Ranks that die or stop, and inputs that are wrong --===//
//
// Each on a compiled program, as threads and as an mpi job: the exit code, and that the message names what a person
// needs to know.
//
//===----------------------------------------------------------------------===//
#include "FaultyProgram.h"
#include "lf/Support/Json.h"
#include <fstream>
#include <gtest/gtest.h>
#include <regex>

using namespace lf::test;

namespace {

class Failure : public testing::Test {
protected:
  static void SetUpTestSuite() {
    scratch = new Scratch;
    train = compileFaulty(*scratch, "train", {"--dp", "2", "--pp", "2"});
  }
  static void TearDownTestSuite() { delete scratch; }

  static std::vector<std::string> words(const std::string &program, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {program, "--data-path", *scratch / "tokens.bin", "--train-iters", "4"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static std::vector<std::string> mpi(int ranks) {
    std::vector<std::string> all = {LF_MPIEXEC, "-n", std::to_string(ranks)};
    for (const std::string &word : words(train))
      all.push_back(word);
    return all;
  }
  static void expect(const Finished &run, int code, const std::vector<std::string> &says) {
    EXPECT_EQ(run.code, code) << run.output;
    for (const std::string &text : says)
      EXPECT_NE(run.output.find(text), std::string::npos) << "lacks: " << text << "\n" << run.output;
  }

  /// Each of these ranks says whom it waits for: on its own timeout, or when another's reaches it first.
  static void expectWaiting(const Finished &run, const std::vector<int> &ranks) {
    for (int rank : ranks) {
      std::string name = "rank " + std::to_string(rank);
      EXPECT_TRUE(std::regex_search(run.output, std::regex(name + ": expected rank [0-9]+ to arrive within|" + name + " stopped.*waiting for")))
          << "lacks what " << name << " waits for\n"
          << run.output;
    }
  }

  /// Some rank waits for `rank`. Whose wait ends first is a matter of time: it may be one that waits for a rank that waits.
  static void expectMissed(const Finished &run, int rank) {
    std::string name = "rank " + std::to_string(rank);
    EXPECT_TRUE(std::regex_search(run.output, std::regex("expected " + name + " to arrive within 3.00 s|waiting for " + name + " ")))
        << "nobody waits for " << name << "\n"
        << run.output;
  }

  static Scratch *scratch;
  static std::string train;
};
Scratch *Failure::scratch = nullptr;
std::string Failure::train;

const std::string timeout = "LF_TIMEOUT_SECONDS=3";

TEST_F(Failure, ThreadThatFails) {
  Finished run = runProgram(words(train), {timeout, "LF_FAULT=1 2 throw"});
  expect(run, 5, {"rank 1: ", "a fault of the test", "rank 0 stopped, since rank 1 failed", "waiting for"});
  EXPECT_LT(run.seconds, 20);
}

TEST_F(Failure, ThreadThatStops) {
  Finished run = runProgram(words(train), {timeout, "LF_FAULT=1 2 sleep"});
  expect(run, 5, {});
  expectMissed(run, 1);
  expectWaiting(run, {0, 2, 3});
  EXPECT_LT(run.seconds, 30);
}

TEST_F(Failure, RunWithoutAFaultEndsWell) {
  expect(runProgram(words(train), {timeout}), 0, {"done: 4 steps"});
  if (*LF_MPIEXEC)
    expect(runProgram(mpi(4), {timeout}), 0, {"done: 4 steps"});
}

TEST_F(Failure, ProcessThatStops) {
  if (!*LF_MPIEXEC)
    GTEST_SKIP() << "built without MPI";
  Finished run = runProgram(mpi(4), {timeout, "LF_FAULT=1 2 stop"});
  expect(run, 5, {});
  expectMissed(run, 1);
  expectWaiting(run, {0, 2, 3});
  EXPECT_LT(run.seconds, 40);
}

TEST_F(Failure, ProcessThatFails) {
  if (!*LF_MPIEXEC)
    GTEST_SKIP() << "built without MPI";
  Finished run = runProgram(mpi(4), {timeout, "LF_FAULT=1 2 throw"});
  expect(run, 5, {"error: rank 1: ", "a fault of the test", "rank 3 stopped; it was waiting for rank 1 at recv"});
  EXPECT_LT(run.seconds, 40);
}

TEST_F(Failure, ProcessThatDies) {
  if (!*LF_MPIEXEC)
    GTEST_SKIP() << "built without MPI";
  // A launcher ends the job as soon as it sees a process die, and says so; no rank is left that could report.
  Finished run = runProgram(mpi(4), {timeout, "LF_FAULT=1 2 die"});
  EXPECT_NE(run.code, 0);
  EXPECT_NE(run.code, -1) << "the job hangs";
  EXPECT_LT(run.seconds, 40);
}

TEST_F(Failure, WorldOfTheLauncherDiffers) {
  if (*LF_MPIEXEC)
    expect(runProgram(mpi(2)), 2, {"expected a launcher to start 4 ranks", "got PMI_SIZE=2"});
  expect(runProgram(words(train), {"RANK=0", "WORLD_SIZE=3"}), 2,
         {"expected a launcher to start 4 ranks", "got WORLD_SIZE=3"});
}

TEST_F(Failure, CheckpointOfAnotherPlan) {
  std::string save = *scratch / "save", other = compileFaulty(*scratch, "other", {"--tp", "2", "--pp", "2"});
  expect(runProgram(words(train, {"--save", save})), 0, {});
  Finished run = runProgram(words(other, {"--load", save}));
  expect(run, 4, {"plan"});
  EXPECT_EQ(run.output.find("step 1/"), std::string::npos) << run.output;
}

TEST_F(Failure, CheckpointThatIsTruncated) {
  std::string save = *scratch / "cut", file = save + "/iter_0000004/rank_00002.lfckpt";
  expect(runProgram(words(train, {"--save", save})), 0, {});
  std::string bytes = lf::readFile(file, "a checkpoint");
  for (size_t size : {size_t{0}, size_t{5}, size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    expect(runProgram(words(train, {"--load", save, "--train-iters", "5"})), 4, {"rank_00002.lfckpt", "expected"});
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  expect(runProgram(words(train, {"--load", save, "--train-iters", "5"})), 0, {});
}

} // namespace
