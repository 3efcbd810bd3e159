// Processes.cpp - the program starts itself once for each rank: what the copies get, and what comes back.
//
// Idea: the test program is the one that is started again with the same filter, so each test begins with what a rank does.
#include "processes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

int rank() {
  const char *text = std::getenv("RANK");
  return text ? std::atoi(text) : -1;
}

std::string setting(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

/// The starting process names the test; in a rank the others have nothing to do.
bool mine() {
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  if (rank() < 0)
    setenv("LF_TEST_NAME", name.c_str(), 1);
  return setting("LF_TEST_NAME") == name;
}

/// A file of the starting process that its ranks can write.
std::string shared_file() {
  if (rank() < 0)
    setenv("LF_TEST_FILE", (testing::TempDir() + "processes." + std::to_string(getpid())).c_str(), 1);
  return setting("LF_TEST_FILE");
}

TEST(Processes, GetTheirRankAndMeetingPoint) {
  if (!mine())
    return;
  const std::string file = shared_file();
  if (rank() >= 0) {
    std::ofstream out(file + "." + setting("RANK"));
    out << setting("LOCAL_RANK") << " " << setting("WORLD_SIZE") << " " << setting("MASTER_ADDR") << " "
        << setting("MASTER_PORT") << std::endl;
    _exit(0);
  }
  setenv("WORLD_SIZE", "99", 1); // is replaced, not repeated
  EXPECT_EQ(lf::rt::run_processes(3, 5.0), 0);
  unsetenv("WORLD_SIZE");
  std::set<std::string> ports;
  for (int r = 0; r < 3; ++r) {
    std::ifstream in(file + "." + std::to_string(r));
    std::string local, world, host, port;
    in >> local >> world >> host >> port;
    EXPECT_EQ(local, std::to_string(r));
    EXPECT_EQ(world, "3");
    EXPECT_EQ(host, "127.0.0.1");
    ports.insert(port);
  }
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_GT(std::atoi(ports.begin()->c_str()), 1023);
}

TEST(Processes, TheFirstFailureCountsAndTheRestIsEnded) {
  if (!mine())
    return;
  if (rank() == 1)
    _exit(4);
  if (rank() >= 0) {
    std::this_thread::sleep_for(std::chrono::minutes(5));
    _exit(0);
  }
  EXPECT_EQ(lf::rt::run_processes(3, 0.1), 4);
}

TEST(Processes, ASignalThatKillsIsACode) {
  if (!mine())
    return;
  if (rank() == 0)
    raise(SIGKILL);
  if (rank() >= 0)
    _exit(0);
  EXPECT_EQ(lf::rt::run_processes(2, 5.0), 128 + SIGKILL);
}

TEST(Processes, SignalsReachEveryRankAndStoppedIsNoFailure) {
  if (!mine())
    return;
  const std::string file = shared_file();
  if (rank() >= 0) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    std::ofstream(file + "." + setting("RANK")) << "ready" << std::endl;
    int signal = 0;
    sigwait(&set, &signal);
    std::this_thread::sleep_for(std::chrono::milliseconds(rank() * 300)); // still saving: not ended for that
    _exit(signal == SIGTERM ? 75 : 1);
  }
  std::thread stop([&] {
    auto ready = [&](int r) { return std::ifstream(file + "." + std::to_string(r)).get() == 'r'; };
    while (!ready(0) || !ready(1))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(lf::rt::run_processes(2, 0.05), 75);
  stop.join();
}

} // namespace
