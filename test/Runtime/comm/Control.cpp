// Control.cpp - what processes of an nccl job tell one another beside NCCL; needs neither NCCL nor a GPU.
#include "comm/nccl/control.h"
#include "comm/nccl/frame.h"
#include "signals.h"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace lf::rt;
using namespace lf::rt::nccl;

namespace {

/// The ranks of a job, all in this process.
struct Job : testing::Test {
  void start(int32_t world) {
    const Address address = own_address();
    for (int32_t rank = 0; rank < world; ++rank)
      ranks.push_back(std::make_unique<Control>(rank, world, address, 10.0));
  }
  static double seconds(const std::function<void()> &what) {
    const auto begin = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void TearDown() override {
    while (!ranks.empty()) // the server goes last
      ranks.pop_back();
  }
  std::vector<std::unique_ptr<Control>> ranks;
};

} // namespace

TEST_F(Job, ValuesReachWhoAsksForThem) {
  start(3);
  ranks[2]->put("key", std::string("a\0b", 3));
  EXPECT_EQ(ranks[0]->get("key", 10.0, "rank 2"), std::string("a\0b", 3));
  EXPECT_EQ(ranks[1]->get("key", 10.0, "rank 2"), std::string("a\0b", 3));
  ranks[0]->post(1, "0/1/5");
  ranks[0]->post(1, "0/1/5");
  for (int i = 0; i < 1000 && ranks[1]->posts("0/1/5") < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(ranks[1]->posts("0/1/5"), 2);
  EXPECT_EQ(ranks[2]->posts("0/1/5"), 0);
}

TEST_F(Job, AValueThatNobodySetsNamesWhoIsMissing) {
  start(2);
  try {
    ranks[0]->get("here/1", 0.2, "rank 1");
    FAIL() << "expected a refusal";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 5);
    EXPECT_EQ(failure.message.find("expected rank 1 to arrive within 0.20 s, got nothing"), 0u) << failure.message;
  }
}

TEST_F(Job, ARankThatEndsWithoutAWordIsNamed) {
  start(4);
  EXPECT_LT(seconds([&] { EXPECT_FALSE(ranks[3]->wait_for_failure(0.0)); }), 0.5);
  ranks[1].reset();
  // Rank 3 sees NCCL break first: it hears the cause before it says that it failed itself.
  EXPECT_LT(seconds([&] { EXPECT_TRUE(ranks[3]->wait_for_failure(3.0)); }), 2.5);
  for (int32_t rank : {0, 2, 3}) {
    ASSERT_TRUE(ranks[rank]->wait_for_failure(3.0));
    EXPECT_EQ(ranks[rank]->culprit(), 1);
    EXPECT_EQ(ranks[rank]->failure().code, 5);
    EXPECT_EQ(ranks[rank]->failure().message, "its process ended without a word (killed, or out of memory?)");
  }
}

TEST_F(Job, AFailureReachesAllOthersOnce) {
  start(3);
  int heard = 0;
  ranks[0]->on_failure([&] { ++heard; });
  ranks[2]->fail({4, "expected tokens below 100, got 4711"});
  ASSERT_TRUE(ranks[0]->wait_for_failure(3.0));
  ASSERT_TRUE(ranks[1]->wait_for_failure(3.0));
  EXPECT_FALSE(ranks[2]->failed()); // its own
  EXPECT_EQ(ranks[0]->culprit(), 2);
  EXPECT_EQ(ranks[0]->failure().code, 4);
  ranks[2].reset();
  ranks[1].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(ranks[0]->culprit(), 2);
  EXPECT_EQ(heard, 1);
  int late = 0;
  ranks[0]->on_failure([&] { ++late; });
  EXPECT_EQ(late, 1);
}

TEST_F(Job, NewsComeBeforeWhatIsDoneAboutThem) {
  start(2);
  static std::mutex busy; // as a session's, held while NCCL's error is looked into
  ranks[0]->on_failure([] { std::lock_guard<std::mutex> lock(busy); });
  std::lock_guard<std::mutex> lock(busy);
  ranks[1].reset();
  EXPECT_LT(seconds([&] { EXPECT_TRUE(ranks[0]->wait_for_failure(5.0)); }), 4.0);
}

TEST_F(Job, AllLeaveInPeace) {
  start(3);
  for (auto &rank : ranks)
    rank->leave();
  for (auto &rank : ranks)
    for (int i = 0; i < 1000 && !rank->everybody_left(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ranks[2].reset();
  EXPECT_FALSE(ranks[0]->wait_for_failure(0.3));
  EXPECT_TRUE(ranks[1]->everybody_left());
}

TEST_F(Job, WhoComesAfterAFailureHearsOfIt) {
  const Address address = own_address();
  ranks.push_back(std::make_unique<Control>(0, 3, address, 10.0));
  ranks[0]->fail({4, "expected a readable file, got none"}); // rank 0 cannot start
  const auto begin = std::chrono::steady_clock::now();
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (int32_t rank : {1, 2}) {
      Control control(rank, 3, address, 10.0);
      EXPECT_TRUE(control.wait_for_failure(10.0));
      EXPECT_EQ(control.culprit(), 0);
      EXPECT_EQ(control.failure().message, "expected a readable file, got none");
    }
  });
  ranks[0]->wait_for_others(60.0);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_GE(took, 0.5);  // it stays for them
  EXPECT_LT(took, 30.0); // and no longer
  late.join();
}

TEST_F(Job, WhoNeverComesIsWaitedForOnlySoLong) {
  ranks.push_back(std::make_unique<Control>(0, 2, own_address(), 10.0));
  ranks[0]->fail({2, "expected an NVIDIA GPU, got none"});
  const double took = seconds([&] { ranks[0]->wait_for_others(0.6); });
  EXPECT_GT(took, 0.1);
  EXPECT_LT(took, 30.0);
}

TEST_F(Job, ASecondProcessOfARankIsSentAway) {
  const Address address = own_address();
  for (int32_t rank = 0; rank < 2; ++rank)
    ranks.push_back(std::make_unique<Control>(rank, 2, address, 10.0));
  ranks[1]->put("key", "value"); // its hello has been read when this has
  EXPECT_EQ(ranks[0]->get("key", 10.0, "rank 1"), "value");
  {
    Control second(1, 2, address, 10.0);
    ASSERT_TRUE(second.wait_for_failure(3.0));
    EXPECT_EQ(second.failure().code, 2);
    EXPECT_EQ(second.failure().message.find("expected one process with RANK=1, got a second one"), 0u)
        << second.failure().message;
    second.put("key2", "stranger");
    second.fail({2, "unknown flag"}); // as an executable with a mistake in its command line does
    second.leave();
  }
  {
    Control other(1, 8, address, 10.0); // of another job that meets at the same port
    ASSERT_TRUE(other.wait_for_failure(3.0));
    EXPECT_EQ(other.failure().code, 2);
    EXPECT_EQ(other.failure().message,
              "expected a world of 2 as on rank 0, got 8; two jobs on one host need two ports: set MASTER_PORT");
    other.fail({4, "expected a readable file, got none"});
  }
  {
    Control nobody(7, 2, address, 10.0);
    ASSERT_TRUE(nobody.wait_for_failure(3.0));
    EXPECT_EQ(nobody.failure().message, "expected a rank below 2, got 7");
  }
  EXPECT_FALSE(ranks[0]->wait_for_failure(0.3)); // the job goes on
  EXPECT_FALSE(ranks[1]->wait_for_failure(0.0));
  ranks[1]->put("key2", "value");
  EXPECT_EQ(ranks[0]->get("key2", 10.0, "rank 1"), "value");
}

TEST_F(Job, AnotherWorldIsNamed) {
  const Address address = own_address();
  ranks.push_back(std::make_unique<Control>(0, 2, address, 10.0));
  ranks.push_back(std::make_unique<Control>(1, 3, address, 10.0));
  for (auto &rank : ranks) {
    ASSERT_TRUE(rank->wait_for_failure(3.0));
    EXPECT_EQ(rank->failure().code, 2);
    EXPECT_EQ(rank->failure().message,
              "expected a world of 2 as on rank 0, got 3; two jobs on one host need two ports: set MASTER_PORT");
  }
}

TEST_F(Job, AStrangerThatStopsInTheMiddleOfAFrameHoldsNobody) {
  const Address address = own_address();
  ranks.push_back(std::make_unique<Control>(0, 2, address, 10.0));
  const int stranger = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(address.port));
  ASSERT_EQ(connect(stranger, reinterpret_cast<sockaddr *>(&to), sizeof to), 0);
  ASSERT_EQ(send(stranger, "GET", 3, 0), 3);
  ranks.push_back(std::make_unique<Control>(1, 2, address, 10.0));
  ranks[1]->put("key", "value");
  EXPECT_EQ(ranks[0]->get("key", 30.0, "rank 1"), "value");
  ASSERT_EQ(send(stranger, std::string(100, 'x').data(), 100, MSG_NOSIGNAL), 100); // no frame: it is shown the door
  char byte;
  EXPECT_EQ(recv(stranger, &byte, 1, 0), 0);
  EXPECT_FALSE(ranks[1]->wait_for_failure(0.2));
  close(stranger);
}

/// What rank 1 says of rank 0 where something else listens, which says `banner`.
static std::string refusal_at(const std::string &banner) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  EXPECT_EQ(bind(listening, reinterpret_cast<sockaddr *>(&at), length), 0);
  EXPECT_EQ(listen(listening, 100), 0);
  EXPECT_EQ(getsockname(listening, reinterpret_cast<sockaddr *>(&at), &length), 0);
  std::thread other([&] {
    for (int client; (client = accept(listening, nullptr, nullptr)) >= 0 && !banner.empty(); close(client))
      send(client, banner.data(), banner.size(), MSG_NOSIGNAL);
  });
  std::string text = "no refusal";
  try {
    Control(1, 2, {"127.0.0.1", ntohs(at.sin_port)}, 0.8);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 5);
    text = failure.message;
  }
  shutdown(listening, SHUT_RDWR);
  other.join();
  close(listening);
  return text;
}

TEST(Address, WhoIsNotRank0IsNotTakenForIt) {
  for (const char *banner : {"", "SSH-2.0-OpenSSH_9.2\r\n", "x"})
    EXPECT_NE(refusal_at(banner).find(
                  "within 0.80 s, got \"a server that is not rank 0 of a job\" on rank 1; set MASTER_ADDR"),
              std::string::npos)
        << refusal_at(banner);
}

TEST(Frame, IsTakenWhenItIsWhole) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const std::string value("a\0b", 3);
  ASSERT_TRUE(send_frame(ends[0], {FrameKind::put, 3, 7, "key", value}));
  ASSERT_TRUE(send_frame(ends[0], {FrameKind::leave, 4, 0, "", ""}));
  char bytes[256];
  const ssize_t length = recv(ends[1], bytes, sizeof bytes, 0);
  ASSERT_GT(length, 0);
  std::string received;
  int frames = 0;
  for (ssize_t i = 0; i < length; ++i) { // byte by byte
    received += bytes[i];
    Frame frame;
    const int taken = take_frame(received, frame);
    ASSERT_GE(taken, 0);
    if (taken == 0)
      continue;
    EXPECT_EQ(frame.rank, frames == 0 ? 3 : 4);
    EXPECT_EQ(frame.value, frames == 0 ? value : "");
    ++frames;
  }
  EXPECT_EQ(frames, 2);
  EXPECT_EQ(received, "");
  Frame frame;
  received.assign(bytes, 24);
  received[16] = received[17] = received[18] = '\xff'; // a key of 16 million bytes
  EXPECT_EQ(take_frame(received, frame), -1);
  received.assign(24, 'x');
  EXPECT_EQ(take_frame(received, frame), -1);
  close(ends[0]);
  close(ends[1]);
}

/// What `wait` throws when a signal to stop comes a little later.
static Failure stopped_by(int signal, const std::function<void()> &wait) {
  SignalWatch watch;
  std::thread sender([signal] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(getpid(), signal);
  });
  Failure thrown{0, "expected a refusal"};
  try {
    wait();
  } catch (const Failure &failure) {
    thrown = failure;
  }
  sender.join();
  return thrown;
}

TEST_F(Job, ASignalEndsTheWaitForRank0) {
  const Address nobody = own_address();
  Failure failure{0, ""};
  EXPECT_LT(seconds([&] { failure = stopped_by(SIGTERM, [&] { Control control(1, 2, nobody, 60.0); }); }), 10.0);
  EXPECT_EQ(failure.code, 75);
  EXPECT_EQ(failure.message,
            "expected rank 0 to answer at " + nobody.text() +
                ", got SIGTERM; the job ends before its first step, and its checkpoints are as they were");
}

TEST_F(Job, ASignalEndsTheWaitForARankUntilTheJobHasStarted) {
  start(2);
  const auto wait = [&](double timeout) { return [this, timeout] { ranks[0]->get("here/1", timeout, "rank 1"); }; };
  Failure failure{0, ""};
  EXPECT_LT(seconds([&] { failure = stopped_by(SIGUSR1, wait(60.0)); }), 10.0);
  EXPECT_EQ(failure.code, 75);
  EXPECT_EQ(failure.message.find("expected rank 1 to arrive, got SIGUSR1;"), 0u) << failure.message;
  ranks[0]->started(); // the step sees it now, which saves
  EXPECT_EQ(stopped_by(SIGTERM, wait(1.0)).code, 5);
}

TEST_F(Job, WhoIsToldToStopSaysSoToThoseWhoWaitWithIt) {
  for (int round = 0; round < 20; ++round) {
    start(2);
    {
      SignalWatch watch;
      raise(SIGTERM);
      ranks[0]->fail({75, "expected rank 2 to arrive, got SIGTERM"});
      std::thread leaves([&] {
        ASSERT_TRUE(ranks[1]->wait_for_failure(10.0));
        EXPECT_EQ(ranks[1]->failure().code, 75) << ranks[1]->failure().message;
        ranks[1].reset();
      });
      ranks[0]->wait_for_others(60.0);
      leaves.join();
    }
    TearDown();
  }
}

TEST(Address, IsReadFromTheLauncher) {
  setenv("MASTER_ADDR", "node7", 1);
  setenv("MASTER_PORT", "1234", 1);
  EXPECT_EQ(find_address().text(), "node7:1234");
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1); // the launcher's own store has the port
  EXPECT_EQ(find_address().port, 1235);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  setenv("MASTER_ADDR", "node7\x1b[2J", 1);
  EXPECT_THROW(find_address(), Failure);
  setenv("MASTER_PORT", "12x", 1);
  EXPECT_THROW(find_address(), Failure);
  unsetenv("MASTER_PORT");
  unsetenv("MASTER_ADDR");
  EXPECT_EQ(find_address().text(), "127.0.0.1:29500");
}

TEST(Address, APortThatIsTakenIsSaid) {
  const Address address = own_address();
  Control first(0, 1, address, 10.0);
  try {
    Control second(0, 1, address, 1.0);
    FAIL() << "expected a refusal";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, 5);
    EXPECT_NE(failure.message.find("to listen on port " + std::to_string(address.port)), std::string::npos)
        << failure.message;
  }
}
