// channel.h - messages from one rank to another with one tag, in order.
//
// Idea: each has a communicator of two, so that tags need no common order. A send copies into a buffer; it is issued
// when the copy is there and the receiver has offered a place, so that no kernel waits for a receiver who may be busy
// with something else. A receive that was posted ahead is offered when the device is done with its place, and issued,
// on a stream of its own, when the sender says that it sends: it waits for nothing that this device still has to
// compute. Invariant: the rank's thread opens, sends, posts and waits; the transport's helper issues.
#pragma once

#include "comm/nccl/session.h"
#include "device/cuda/cuda_device.h"

#include <deque>
#include <functional>
#include <vector>

namespace lf::rt::nccl {

class Channel {
public:
  /// Opens the channel of messages `from` -> `to`, one of which is this rank; waits for the other, `timeout` seconds at
  /// most. `bytes`: of the largest message, 0 when it is not known; the sender makes lf::message_places places for such
  /// ones. The compute stream is idle. Throws Failure 5; Stopped when another rank failed.
  Channel(Session &, CudaDevice &, int32_t from, int32_t to, int32_t tag, int64_t bytes, double timeout);
  ~Channel();
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  /// Queues a copy of x, which may be reused by later work of the compute stream. Waits, calling `poll`, while this
  /// rank's own device has not come to the message before the last: the host does not run ahead of it by more places.
  void send(const void *x, int64_t bytes, const std::function<void()> &poll);
  /// Receives into y on the compute stream.
  void receive(void *y, int64_t bytes);
  /// Queues a receive into y, which the compute stream is done with once it has done what was issued so far.
  void post(void *y, int64_t bytes);
  /// What is issued on the compute stream from now on sees the message of the oldest post.
  void wait();
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
  struct Posted {
    void *data = nullptr;
    int64_t bytes = 0;
    bool offered = false, issued = false; ///< told to the sender; received on stream_
    cudaEvent_t unused = nullptr, arrived = nullptr;
  };
  void forget(Message &);
  Message make_message(int64_t bytes);
  Posted make_post();
  bool behind();
  bool advance_send();
  bool advance_receive();
  void connect();

  Session &session_;
  CudaDevice &device_;
  std::string name_; ///< "0/2/5": from, to, tag
  int32_t role_;     ///< rank in the communicator: 0 sends
  int32_t peer_;     ///< world rank
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;       ///< of sends, and of receives posted ahead
  std::mutex mutex_;                    ///< guards what follows, and the communicator of a receiver
  std::deque<Message> queued_, issued_; ///< not yet sent; being sent, or free again
  int64_t sent_ = 0;                    ///< the helper's
  int64_t received_ = 0;                ///< receives issued
  std::deque<Posted> posted_;           ///< not yet waited for, oldest first
  std::vector<Posted> free_;            ///< their events, to be used again
};

} // namespace lf::rt::nccl
