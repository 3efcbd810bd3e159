// trace.h - the ring of issued operations of one rank; always on, so that a hang or a failure explains itself.
//
// Idea: every communication call (and every lf_enter) leaves one fixed-size entry; nothing is formatted or allocated
// until a report is wanted. Invariant: one thread writes, any thread may read: an entry is copied out whole or not at
// all.
#pragma once

#include "rank.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lf::rt {

/// What an entry, a message or a row of traffic is about.
enum class OpKind : int32_t {
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  Broadcast,
  Gather,
  Barrier,
  Send,
  Recv,
  PostRecv, ///< of a receive in two parts; its wait is a Recv
  Enter, ///< lf_enter: not a communication, but says where a busy rank is
};
inline constexpr int num_op_kinds = 11;

/// "all_gather", ...: the names of plan.json's traffic and of `comm_bytes`.
const char *op_name(OpKind);

/// One operation. Strings are cut to fit. Times are nanoseconds of std::chrono::steady_clock.
struct TraceEntry {
  uint64_t sequence = 0; ///< 1-based number of the entry on its rank
  int64_t issued_ns = 0;
  int64_t done_ns = 0; ///< 0: issued, not done
  int64_t count = 0;   ///< elements, as passed to the call
  int32_t layer = -1, micro_batch = -1;
  int32_t peer = -1; ///< world rank of the other side of a send or receive
  int32_t tag = 0;
  OpKind kind = OpKind::Enter;
  int32_t unused = 0;
  char function[32] = {};
  char what[40] = {};
  char comm[24] = {}; ///< group of a collective, "" otherwise
};
static_assert(sizeof(TraceEntry) % 8 == 0, "entries are copied as 8-byte words");

/// Times of work that is issued and happens later: a device's.
class DeviceClock {
public:
  virtual ~DeviceClock() = default;
  /// The work of entry `sequence` begins (or ends) where the stream is now.
  virtual void mark(uint64_t sequence, bool end, int32_t stream) = 0;
  /// Waits for the device, and puts the times of what was marked in place of those of its issue.
  virtual void resolve(std::vector<TraceEntry> &log) = 0;
};

class Trace {
public:
  /// Keeps the last `capacity` entries (a power of two).
  explicit Trace(int64_t capacity = 256);

  /// Records an operation as issued and returns its sequence number. Owner thread only; some tens of nanoseconds.
  uint64_t issue(const Where &at, OpKind kind, const char *what, const char *comm, int64_t count, int32_t peer = -1,
                 int32_t tag = 0);
  /// Marks it done. Owner thread only; ignored when the ring has overwritten it.
  void done(uint64_t sequence);

  /// From now on also keeps every operation that is done and every lf_enter, without bound, for log(): what --trace
  /// writes. Owner thread only.
  void keep_log(bool on) { keep_log_ = on; }
  const std::vector<TraceEntry> &log() const { return log_; }
  /// With a clock, entries of the log have the times of the device.
  void set_clock(std::shared_ptr<DeviceClock> clock) { clock_ = std::move(clock); }
  DeviceClock *clock() const { return clock_.get(); }
  void mark(uint64_t sequence, bool end, int32_t stream) {
    if (keep_log_ && clock_)
      clock_->mark(sequence, end, stream);
  }
  int64_t log_begin_ns = 0; ///< time 0 of the log, for its owner to set

  /// The newest `count` entries, oldest first. Any thread.
  std::vector<TraceEntry> last(int64_t count) const;
  /// The newest entry if it is a communication that is issued and not done: what the rank waits for. Any thread.
  bool waiting(TraceEntry &) const;
  /// "last operations of rank 3, newest last:" and a line for each, ready to print. Any thread.
  std::string report(int32_t rank, int64_t count = 8) const;

private:
  static constexpr int words = sizeof(TraceEntry) / 8;
  struct Slot {
    std::atomic<uint64_t> version{0}; ///< odd while being written
    std::atomic<uint64_t> word[words];
  };
  bool read(uint64_t sequence, TraceEntry &) const;

  int64_t capacity_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<uint64_t> next_{1};
  bool keep_log_ = false;
  std::vector<TraceEntry> log_;
  std::shared_ptr<DeviceClock> clock_;
};

/// `all_reduce "grads" of comm "dp", count 64, in decoder.bwd, layer 3, micro-batch 0`: one operation in words.
std::string describe(const TraceEntry &);
/// Copies a C string (NULL: "") into a fixed field, cut and terminated.
template <size_t N> void copy_name(char (&to)[N], const char *from) {
  size_t i = 0;
  for (; from && from[i] && i + 1 < N; ++i)
    to[i] = from[i];
  for (; i < N; ++i)
    to[i] = 0;
}

} // namespace lf::rt
