// channel.h - messages from one rank to another with one tag, in order.
//
// Idea: each has a communicator of two, so that tags need no common order. A send copies into a buffer; it is issued
// when the copy is there and the receiver has posted its side, so that no kernel waits for a receiver who may be busy
// opening another channel: NCCL opens a communicator only when the device's work can end. Invariant: the rank's thread
// opens, sends and receives; the transport's helper issues.
#pragma once

#include "comm/nccl/session.h"
#include "device/cuda/cuda_device.h"

#include <deque>

namespace lf::rt::nccl {

class Channel {
public:
  /// Opens the channel of messages `from` -> `to`, one of which is this rank; waits for the other, `timeout` seconds at
  /// most. The compute stream is idle. Throws Failure 5; Stopped when another rank failed.
  Channel(CudaDevice &, int32_t from, int32_t to, int32_t tag, double timeout);
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  /// Queues a copy of x, which may be reused by later work of the compute stream.
  void send(const void *x, int64_t bytes);
  /// Receives into y on the compute stream.
  void receive(void *y, int64_t bytes);
  /// The helper's: issues what can be; true when something was.
  bool advance();
  /// True when everything that was queued has been received.
  bool idle();

private:
  struct Message {
    void *data = nullptr;
    int64_t capacity = 0, bytes = 0;
    cudaEvent_t packed = nullptr, sent = nullptr;
  };
  void forget(Message &);

  CudaDevice &device_;
  std::string name_; ///< "0/2/5": from, to, tag
  int32_t role_;     ///< rank in the communicator: 0 sends
  int32_t peer_;     ///< world rank
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr; ///< of sends
  std::mutex mutex_;
  std::deque<Message> queued_, issued_; ///< guarded by mutex_
  int64_t sent_ = 0;                    ///< the helper's
};

} // namespace lf::rt::nccl
