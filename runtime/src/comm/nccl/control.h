// control.h - what processes of a job tell one another beside NCCL: identities of communicators, failures, the end.
//
// Idea: rank 0 serves a small store over TCP; every rank, rank 0 too, is a client with one connection and a thread that
// listens to it. Invariant: a client that goes without having left has failed, and all others hear of it.
#pragma once

#include "rank.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace lf::rt::nccl {

/// MASTER_ADDR and MASTER_PORT. torchrun's own store sits on that port; then the next one is ours.
struct Address {
  std::string host;
  int port = 0;
  std::string text() const { return host + ":" + std::to_string(port); }
};
/// Throws Failure 2 when the port is no port. Without the variables: 127.0.0.1:29500.
Address find_address();
/// A port of this host that nobody listens on now, for ranks that are threads. Throws Failure 5 when there is none.
Address own_address();

class Server;
struct Frame;

class Control {
public:
  /// Rank 0 listens at the address; all connect to it. Throws Failure 5 when nobody answers for `timeout` seconds, or
  /// when the port is taken; 75 when a signal to stop comes meanwhile.
  Control(int32_t rank, int32_t world, const Address &, double timeout);
  ~Control();
  Control(const Control &) = delete;
  Control &operator=(const Control &) = delete;

  /// Sets a value; once for each key.
  void put(const std::string &key, const std::string &value);
  /// Waits for a value. Throws Failure 5 after `timeout` seconds, naming the key's maker as `waits`; Stopped's cause is
  /// the caller's to report: returns "" when another rank failed. Until started(), throws Failure 75 when a signal to
  /// stop comes. Any thread.
  std::string get(const std::string &key, double timeout, const std::string &waits);
  /// All that the plan needs is connected: from here on a signal to stop is the step's to see, which all ranks end
  /// together.
  void started() { starting_ = false; }
  /// Adds one to what `rank` counts as posts of a key. For what happens in every step: nothing is stored.
  void post(int32_t rank, const std::string &key);
  int64_t posts(const std::string &key);
  /// Tells all others that this rank cannot go on.
  void fail(const Failure &);
  /// Says that this rank is done; everybody_left() once all have.
  void leave();
  bool everybody_left() const { return everybody_left_.load(); }

  bool failed() const { return failed_.load(); }
  /// Waits for news that another rank has failed, `seconds` at most; failed().
  bool wait_for_failure(double seconds);
  /// Only once failed().
  int32_t culprit() const { return culprit_; }
  const Failure &failure() const { return failure_; }
  /// `act` is called once, on the listening thread, when another rank has failed; at once when one has already.
  void on_failure(std::function<void()> act);

  /// Rank 0, before it ends for a failure: waits until the others are gone, `seconds` at most; for those that have not
  /// come yet, until `seconds` after it began to listen. A signal to stop makes that half a second.
  void wait_for_others(double seconds);

private:
  bool greet(Frame &answer, std::string &cause, const std::function<bool()> &wait);
  void listen();
  void heard(int32_t culprit, int32_t code, const std::string &message);

  int32_t rank_, world_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int socket_ = -1;
  std::unique_ptr<Server> server_;
  std::thread listener_;
  std::mutex mutex_, sending_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::map<std::string, int64_t> posts_;
  std::atomic<bool> failed_{false}, closing_{false}, starting_{true}, everybody_left_{false};
  int32_t culprit_ = -1;
  Failure failure_{0, ""};
  std::function<void()> on_failure_;
};

} // namespace lf::rt::nccl
