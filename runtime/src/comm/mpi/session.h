// session.h - the process's part of an mpi job, and the loop in which everything waits.
//
// Idea: the loop looks for its condition, for news of failed ranks, and at the clock; it yields, then sleeps.
// Invariant: all of this is used by the thread that called join_mpi only.
#pragma once

#include "comm/comm.h"

#include <mpi.h>

#include <sched.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lf::rt::mpi {

using Clock = std::chrono::steady_clock;
constexpr int64_t piece_bytes = int64_t(1) << 30; ///< of one message: MPI counts are int
constexpr int abort_tag = 0, ack_tag = 1;         ///< of the collectives' communicator; groups follow

/// Throws Failure (5) with MPI's own words unless `result` is MPI_SUCCESS.
void check_mpi(int result, const char *call);
#define LF_MPI(call, ...) ::lf::rt::mpi::check_mpi(call(__VA_ARGS__), #call)

Clock::time_point after(double seconds);
inline void sleep_20us() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Sent by a rank that fails to every other.
struct AbortMessage {
  int32_t code, culprit;
  char text[1528];
};

/// The process's part of the job; one for the life of the process.
struct Session {
  MPI_Comm collectives = MPI_COMM_NULL, messages = MPI_COMM_NULL;
  int rank = 0, world = 1, max_tag = 32767;
  int heard = 0;        ///< ranks that have said that they stop, by an abort or an acknowledgement
  bool stopped = false; ///< an abort of another rank has come
  AbortMessage first{};
  std::vector<MPI_Request> farewell;
  AbortMessage mine{};

  /// Looks for aborts; true once one has come.
  bool listen();
  /// Sends the first `bytes` of `mine`.
  void tell(int tag, int to, size_t bytes);
};

Session &session();

/// Waiting for requests, with the timeout, aborts and names of who is late. One for each transport.
class Waiter {
public:
  Waiter(const Attached &attached, const double &timeout) : attached_(attached), timeout_(timeout) {}

  template <class Ready, class Missing> void wait(Ready ready, Missing missing) {
    Clock::time_point deadline{};
    for (int64_t i = 0;; ++i) {
      if (ready())
        return;
      if (i % 16 == 0 && session().listen())
        throw stopped(missing() + " at " + operation());
      if (i < 300) {
        sched_yield();
        continue;
      }
      if (i == 300)
        deadline = after(timeout_);
      else if (Clock::now() > deadline)
        late(missing());
      sleep_20us();
    }
  }

  Stopped stopped(const std::string &waits) {
    const AbortMessage &m = session().first;
    return Stopped({m.code, "rank " + std::to_string(m.culprit) + " failed: " + m.text}, waits);
  }

  const Attached &attached() const { return attached_; }

private:
  std::string operation() const {
    TraceEntry entry;
    return attached_.trace->waiting(entry) ? describe(entry) : "a call";
  }
  [[noreturn]] void late(const std::string &missing) {
    std::string seconds = std::to_string(timeout_);
    throw Failure{5, "expected " + missing + " to arrive within " + seconds.substr(0, seconds.find('.') + 3) +
                         " s at " + operation() +
                         ", got nothing (to allow more time: --distributed-timeout-minutes or LF_TIMEOUT_SECONDS)"};
  }

  Attached attached_;
  const double &timeout_;
};

/// One group; `number` is that of make_group, `waiter` the transport's.
std::unique_ptr<Communicator> make_mpi_communicator(std::string name, std::vector<int32_t> members, int32_t rank,
                                                    int number, Waiter &waiter);

} // namespace lf::rt::mpi
