// mailbox.h - messages from one thread to another with one tag, in order.
//
// Idea: a send copies into a buffer of the mailbox, a receive copies out and gives the buffer back. Invariant: one
// sender, one receiver; after warm-up nothing is allocated.
#pragma once

#include "comm/comm.h"
#include "comm/local/parking.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace lf::rt {

class Mailbox {
public:
  /// `memory`: where x lies, null on the host.
  void push(const Call &call, DeviceMemory *memory) {
    Message message;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!free_.empty()) {
        message = std::move(free_.back());
        free_.pop_back();
      }
    }
    size_t bytes = static_cast<size_t>(call.count * call.size);
    message.on_device = memory != nullptr;
    message.data.resize(memory ? 0 : bytes);
    if (memory)
      message.parcel = memory->pack(std::move(message.parcel), call.x, static_cast<int64_t>(bytes));
    else if (bytes)
      std::memcpy(message.data.data(), call.x, bytes);
    message.count = call.count;
    message.size = call.size;
    copy_name(message.what, call.what);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(message));
    }
    waiting_.fetch_add(1);
    parking_.wake();
  }

  Parking::Outcome wait(const std::atomic<bool> &stop, Parking::Clock::time_point deadline) {
    return parking_.wait([this] { return waiting_.load() > 0; }, stop, deadline);
  }

  /// After wait() said Ready; `memory`: where y lies. Throws Failure (5) when the message has another size.
  void pop(const Call &call, DeviceMemory *memory) {
    Message message;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      message = std::move(queue_.front());
      queue_.pop_front();
    }
    waiting_.fetch_sub(1);
    if (message.count != call.count || message.size != call.size)
      throw Failure{5, "expected " + std::to_string(call.count) + " elements of " + std::to_string(call.size) +
                           " bytes for recv \"" + call.what + "\" from rank " + std::to_string(call.peer) + ", tag " +
                           std::to_string(call.tag) + ", got " + std::to_string(message.count) + " of " +
                           std::to_string(message.size) + " bytes sent as \"" + message.what + "\""};
    if (message.on_device && memory)
      memory->unpack(*message.parcel, call.y, call.count * call.size);
    else if (!message.data.empty())
      std::memcpy(call.y, message.data.data(), message.data.size());
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(message));
  }

private:
  struct Message {
    std::vector<char> data;
    std::unique_ptr<DeviceMemory::Parcel> parcel;
    bool on_device = false; ///< in `parcel`, not in `data`
    int64_t count = 0, size = 0;
    char what[40] = {};
  };
  std::mutex mutex_;
  std::deque<Message> queue_;
  std::vector<Message> free_;
  std::atomic<int64_t> waiting_{0};
  Parking parking_;
};

/// All mailboxes of a job, made when first used.
class Mailboxes {
public:
  Mailbox &find(int32_t from, int32_t to, int32_t tag) {
    std::lock_guard<std::mutex> lock(mutex_);
    return boxes_[{from, to, tag}];
  }

private:
  std::mutex mutex_;
  std::map<std::tuple<int32_t, int32_t, int32_t>, Mailbox> boxes_;
};

} // namespace lf::rt
