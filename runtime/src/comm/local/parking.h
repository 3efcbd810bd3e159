// parking.h - waiting for other threads when there are more of them than cores.
//
// Idea: spin a little, give the core away some times, then block. Invariant: no wake-up is lost: the waiter counts
// itself before it looks, the waker looks at the count after it has written (both sequentially consistent).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace lf::rt {

class Parking {
public:
  using Clock = std::chrono::steady_clock;
  enum class Outcome { Ready, TimedOut, Stopped };

  /// Waits until ready() (which must read sequentially consistent atomics), until `stop`, or until the deadline;
  /// ready() wins over the others.
  template <class Condition> Outcome wait(Condition ready, const std::atomic<bool> &stop, Clock::time_point deadline) {
    for (int i = 0; i < 64; ++i)
      if (ready())
        return Outcome::Ready;
    for (int i = 0; i < 50; ++i) {
      std::this_thread::yield();
      if (ready())
        return Outcome::Ready;
      if (stop.load())
        return ready() ? Outcome::Ready : Outcome::Stopped;
    }
    sleepers_.fetch_add(1);
    std::unique_lock<std::mutex> lock(mutex_);
    Outcome outcome = Outcome::Ready;
    while (!ready()) {
      if (stop.load()) {
        outcome = ready() ? Outcome::Ready : Outcome::Stopped;
        break;
      }
      Clock::time_point now = Clock::now();
      if (now >= deadline) {
        outcome = Outcome::TimedOut;
        break;
      }
      // `stop` belongs to the whole job and wakes nobody here, so look again now and then.
      condition_.wait_until(lock, std::min(deadline, now + std::chrono::milliseconds(20)));
    }
    sleepers_.fetch_sub(1);
    return outcome;
  }

  /// To be called after writing what ready() reads.
  void wake() {
    if (sleepers_.load() == 0)
      return;
    { std::lock_guard<std::mutex> lock(mutex_); }
    condition_.notify_all();
  }

private:
  std::atomic<int> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable condition_;
};

} // namespace lf::rt
