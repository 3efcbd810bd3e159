// nccl.cpp - the transport: groups by splitting the world, messages by channels, failures by the control connection.
#include "comm/nccl/nccl.h"

#include "comm/nccl/channel.h"
#include "comm/nccl/communicator.h"
#include "lf/driver_memory.h"
#include "signals.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace lf::rt {
namespace {

using namespace nccl;
using Clock = std::chrono::steady_clock;

class NcclTransport final : public Transport {
public:
  NcclTransport(lf_rank &c, std::shared_ptr<Session> session)
      : Transport(c.rank, c.world, {c.trace.get(), &c.at}), session_(std::move(session)), c_(c) {}

  ~NcclTransport() override { stop_helper(); }

  const char *name() const override { return "nccl"; }

  std::unique_ptr<Communicator> make_group(const std::string &name, std::vector<int32_t> members) override {
    const int32_t index = static_cast<int32_t>(std::find(members.begin(), members.end(), rank()) - members.begin());
    const bool sums = groups_++ == c_.program->world_comm;
    const int32_t color = members[0];
    return make_communicator(session_, c_, name, std::move(members), index, [&] {
      // Stated in full: a group would have the world's few blocks otherwise.
      ncclConfig_t config = sums ? few_blocks(sums_blocks) : ncclConfig_t NCCL_CONFIG_INITIALIZER;
      ncclComm_t comm = nullptr; // on all ranks or on none: groups over a mask have one size
      LF_NCCL(*session_, ncclCommSplit(session_->world_comm(timeout_seconds), color, index, &comm, &config));
      return comm;
    });
  }

  void open_channel(int32_t peer, int32_t tag, bool sends, int64_t bytes) override {
    channel(sends ? rank() : peer, sends ? peer : rank(), tag, bytes);
  }

  void started() override { session_->control().started(); }

  bool takes_device_memory() const override { return true; }

  void poll() override {
    if (session_->control().failed())
      throw session_->stopped("nothing: it was computing");
    if (helper_failed_.load())
      throw Failure(*helper_failure_);
    if (Clock::now() - checked_ > std::chrono::milliseconds(100)) {
      session_->check_all();
      checked_ = Clock::now();
    }
  }

  void leave() override {
    finish(c_, 0);
    wait("its messages to be received", [&] {
      std::lock_guard<std::mutex> lock(mutex_);
      return std::all_of(channels_.begin(), channels_.end(), [](auto &entry) { return entry.second->idle(); });
    });
    stop_helper();
    session_->control().leave();
    while (!session_->control().everybody_left()) { // however long the others take
      if (session_->control().failed())
        throw session_->stopped("the others to finish");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    channels_.clear();
  }

  void abort(const Failure &failure) override {
    session_->control().fail(failure);
    session_->abort_all();
  }

  /// Before the process ends for a failure.
  void end(double grace) {
    session_->ending();
    session_->control().wait_for_others(grace); // rank 0 carries the news: it goes last
  }

private:
  /// `bytes`: of messages that are to come, where that is known.
  Channel &channel(int32_t from, int32_t to, int32_t tag, int64_t bytes = 0) {
    const std::tuple<int32_t, int32_t, int32_t> key{from, to, tag};
    if (auto known = channels_.find(key); known != channels_.end())
      return *known->second;
    for (int32_t stream = 0; stream <= c_.program->num_comms; ++stream)
      finish(c_, stream);
    auto fresh = std::make_unique<Channel>(*session_, cuda(&c_), from, to, tag, bytes, timeout_seconds);
    if (!helper_.joinable())
      helper_ = std::thread([this] { help(); });
    std::lock_guard<std::mutex> lock(mutex_);
    return *channels_.emplace(key, std::move(fresh)).first->second;
  }

  // Issues sends while the rank's thread may be waiting in a call of CUDA.
  void help() {
    try {
      name_thread(rank());
      LF_CUDA(cudaSetDevice(cuda(&c_).ordinal()));
      while (!stop_helper_.load() && !session_->control().failed()) {
        bool moved = false;
        {
          std::lock_guard<std::mutex> lock(mutex_);
          for (auto &[key, channel] : channels_)
            moved |= channel->advance();
        }
        if (!moved)
          std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    } catch (...) {
      helper_failure_ = std::make_unique<Failure>(current_failure());
      helper_failed_ = true;
    }
  }

  void stop_helper() {
    stop_helper_ = true;
    if (helper_.joinable())
      helper_.join();
  }

  template <class Condition> void wait(const std::string &what, Condition condition) {
    auto start = Clock::now();
    while (!condition()) {
      poll();
      if (std::chrono::duration<double>(Clock::now() - start).count() > timeout_seconds)
        throw Failure{5, "expected " + what + " within " + std::to_string(static_cast<int64_t>(timeout_seconds)) +
                             " s, got nothing (to allow more time: --distributed-timeout-minutes or "
                             "LF_TIMEOUT_SECONDS)"};
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  void check_device(const Call &call, const void *p) {
    if (call.count > 0 && !memory->holds(p))
      throw Failure{5, "expected \"" + std::string(call.what) + "\" to be an array of the device, got one of the host"};
  }

  void run_send(const Call &call) override {
    poll();
    memory->host_decides("the host says when a message may go");
    check_device(call, call.x);
    channel(rank(), call.peer, call.tag).send(call.x, call.count * call.size, [this] { poll(); });
  }

  void run_recv(const Call &call) override {
    poll();
    memory->host_decides("the host says when a message may go");
    check_device(call, call.y);
    channel(call.peer, rank(), call.tag).receive(call.y, call.count * call.size);
  }

  void run_post(const Call &call) override {
    poll();
    memory->host_decides("the host says when a message may go");
    check_device(call, call.y);
    auto known = channels_.find({call.peer, rank(), call.tag});
    if (known == channels_.end()) // to open it now would wait for a sender who may need what this rank computes next
      throw Failure{5,
                    "expected the message \"" + std::string(call.what) + "\" from rank " + std::to_string(call.peer) +
                        ", tag " + std::to_string(call.tag) +
                        ", to be in the program's table of messages, since its receive is posted, got no such entry"};
    known->second->post(call.y, call.count * call.size);
  }

  void run_wait(const Call &call) override {
    poll();
    channel(call.peer, rank(), call.tag).wait();
  }

  std::shared_ptr<Session> session_;
  lf_rank &c_;
  int32_t groups_ = 0;                                                                 ///< made so far
  std::mutex mutex_;                                                                   ///< of the map's shape
  std::map<std::tuple<int32_t, int32_t, int32_t>, std::unique_ptr<Channel>> channels_; ///< by from, to, tag
  std::thread helper_;
  std::atomic<bool> stop_helper_{false}, helper_failed_{false};
  std::unique_ptr<Failure> helper_failure_;
  Clock::time_point checked_{};
};

} // namespace

void set_nccl_environment() {
  // Streams that share a queue of the device wait for one another; 8 queues are few for a group and a channel each.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

std::shared_ptr<Transport> make_nccl_transport(lf_rank &c, const Address &address, double timeout, bool owns_process) {
  return std::make_shared<NcclTransport>(c, std::make_shared<Session>(c.rank, c.world, address, timeout, owns_process));
}

void tell_nccl_job(int32_t rank, int32_t world, const Failure &failure, double grace) {
  SignalWatch watch; // a signal ends the telling, not the process: its code says what has failed
  const Address address = find_address();
  const double limit = rank == 0 ? grace : 30.0; // rank 0 may still be reading what is to be loaded
  std::fprintf(stderr, "lf: rank %d tells the others at %s, for up to %.0f s; a signal ends that\n", rank,
               address.text().c_str(), limit);
  Control control(rank, world, address, limit);
  control.fail(failure);
  control.wait_for_others(grace);
}

void end_nccl_job(Transport *transport, int code, double grace) {
  if (transport)
    static_cast<NcclTransport *>(transport)->end(grace);
  std::fflush(nullptr);
  std::_Exit(code);
}

} // namespace lf::rt
