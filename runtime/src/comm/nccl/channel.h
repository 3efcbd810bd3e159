// channel.h - messages from one rank to another with one tag, in order.
//
// Idea: each has a communicator of two and a stream of its own, so that a message that nobody receives yet holds up
// nothing else; a send copies into a buffer and is issued once the communicator is ready. Invariant: only the rank's
// thread uses it, but for the thread that opens the communicator.
#pragma once

#include "comm/nccl/session.h"
#include "device/cuda/cuda_device.h"

#include <deque>

namespace lf::rt::nccl {

class Channel {
public:
  /// Starts to open the channel of messages `from` -> `to`, one of which is this rank; the other does the same when it
  /// first uses it, `timeout` seconds later at most.
  Channel(CudaDevice &, int32_t from, int32_t to, int32_t tag, double timeout);
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  /// True once messages can be issued. Throws what opening it threw.
  bool ready();
  /// Queues a copy of x, which may be reused by later work of the compute stream.
  void send(const void *x, int64_t bytes);
  /// Issues what is queued, if the channel is ready.
  void progress();
  /// Receives into y, after earlier and before later work of the compute stream. Only when ready.
  void receive(void *y, int64_t bytes);
  /// True when everything that was queued is issued and done.
  bool idle();

private:
  struct Message {
    void *data = nullptr;
    int64_t capacity = 0, bytes = 0;
    cudaEvent_t packed = nullptr, sent = nullptr;
  };
  void open(int32_t from, int32_t to, int32_t tag, double timeout);
  void forget(Message &);

  CudaDevice &device_;
  int32_t role_; ///< rank in the communicator: 0 sends
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t order_ = nullptr;
  std::deque<Message> queued_, issued_;
  std::thread opener_;
  std::atomic<bool> opened_{false};
  std::unique_ptr<Failure> failure_;
};

} // namespace lf::rt::nccl
