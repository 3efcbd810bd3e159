// server.h - rank 0's store: values by key, and news that go to everybody.
//
// Idea: one thread, one poll loop, one connection a rank; nothing waits for one client. Invariant: who is not a rank of
// the job is told so, and does nothing to it.
#pragma once

#include "comm/nccl/frame.h"

#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace lf::rt::nccl {

class Server {
public:
  /// Listens on a port, of this host's loopback alone or of all addresses. Throws Failure 5 when it is taken.
  Server(int32_t world, int port, bool loopback);
  ~Server();
  Server(const Server &) = delete;
  Server &operator=(const Server &) = delete;

  /// Ranks that are connected now, rank 0 among them.
  int32_t connected() const { return connected_.load(); }
  /// Ranks that were ever connected, rank 0 among them.
  int32_t met() const { return met_.load(); }
  /// A failure has been told to all ranks that are connected.
  bool told() const { return told_.load(); }

private:
  struct Client {
    int socket = -1;
    int32_t rank = -1; ///< -1: none of the job, so far
    bool left = false;
    std::string received{};                                                         ///< the beginning of a frame
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now(); ///< connected
  };
  void serve();
  void serve_once();
  void accept_client();
  /// Handles what the client has sent; false when its connection is over.
  bool receive(Client &);
  void handle(Client &, const Frame &);
  void greet(Client &, const Frame &hello);
  void lost(const Client &);
  void tell_all(const Frame &, int32_t but);
  /// Of the job's first failure: tells all but `but`, and whoever comes later.
  void abort_job(const Frame &, int32_t but);

  int32_t world_;
  int listening_ = -1;
  std::atomic<bool> stop_{false}, told_{false};
  std::atomic<int32_t> connected_{0}, met_{0};
  std::optional<Frame> aborted_; ///< the news of the first failure
  std::set<int32_t> ranks_;      ///< that were ever connected
  int32_t left_ = 0;
  std::vector<Client> clients_;
  std::map<std::string, std::string> values_;
  std::multimap<std::string, int> waiting_; ///< sockets, by the key that they asked for
  std::thread thread_;
};

} // namespace lf::rt::nccl
