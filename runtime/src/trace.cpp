// trace.cpp - the ring of issued operations: a sequence lock for each entry, and its words.
//
// Idea: the writer never waits; a reader that meets a half-written entry skips it.
#include "trace.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>

namespace lf::rt {

static int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char *op_name(OpKind kind) {
  switch (kind) {
  case OpKind::AllGather:
    return "all_gather";
  case OpKind::ReduceScatter:
    return "reduce_scatter";
  case OpKind::AllReduce:
    return "all_reduce";
  case OpKind::AllToAll:
    return "all_to_all";
  case OpKind::Broadcast:
    return "broadcast";
  case OpKind::Gather:
    return "gather";
  case OpKind::Barrier:
    return "barrier";
  case OpKind::Send:
    return "send";
  case OpKind::Recv:
    return "recv";
  case OpKind::PostRecv:
    return "post_recv";
  case OpKind::Enter:
    return "enter";
  }
  return "unknown";
}

Trace::Trace(int64_t capacity) : capacity_(capacity), slots_(new Slot[capacity]) {}

uint64_t Trace::issue(const Where &at, OpKind kind, const char *what, const char *comm, int64_t count, int32_t peer,
                      int32_t tag) {
  TraceEntry entry;
  entry.sequence = next_.load(std::memory_order_relaxed);
  entry.issued_ns = now_ns();
  entry.count = count;
  entry.layer = at.layer;
  entry.micro_batch = at.micro_batch;
  entry.peer = peer;
  entry.tag = tag;
  entry.kind = kind;
  copy_name(entry.function, at.function);
  copy_name(entry.what, what);
  copy_name(entry.comm, comm);

  uint64_t raw[words];
  std::memcpy(raw, &entry, sizeof entry);
  Slot &slot = slots_[entry.sequence % capacity_];
  slot.version.store(2 * entry.sequence + 1);
  for (int i = 0; i < words; ++i)
    slot.word[i].store(raw[i], std::memory_order_release);
  slot.version.store(2 * entry.sequence + 2);
  next_.store(entry.sequence + 1);
  if (keep_log_ && kind == OpKind::Enter) // nothing says when it is done: the next one does
    log_.push_back(entry);
  return entry.sequence;
}

void Trace::done(uint64_t sequence) {
  Slot &slot = slots_[sequence % capacity_];
  if (slot.version.load(std::memory_order_relaxed) != 2 * sequence + 2)
    return;
  slot.word[offsetof(TraceEntry, done_ns) / 8].store(static_cast<uint64_t>(now_ns()), std::memory_order_release);
  TraceEntry entry;
  if (keep_log_ && read(sequence, entry))
    log_.push_back(entry);
}

bool Trace::read(uint64_t sequence, TraceEntry &entry) const {
  const Slot &slot = slots_[sequence % capacity_];
  if (slot.version.load() != 2 * sequence + 2)
    return false;
  uint64_t raw[words];
  for (int i = 0; i < words; ++i)
    raw[i] = slot.word[i].load(std::memory_order_acquire);
  if (slot.version.load() != 2 * sequence + 2)
    return false;
  std::memcpy(static_cast<void *>(&entry), raw, sizeof entry);
  return true;
}

std::vector<TraceEntry> Trace::last(int64_t count) const {
  int64_t end = static_cast<int64_t>(next_.load());
  int64_t first = end - std::min({count, capacity_, end - 1});
  std::vector<TraceEntry> entries;
  TraceEntry entry;
  for (int64_t sequence = first; sequence < end; ++sequence)
    if (read(static_cast<uint64_t>(sequence), entry))
      entries.push_back(entry);
  return entries;
}

bool Trace::waiting(TraceEntry &entry) const {
  std::vector<TraceEntry> newest = last(1);
  if (newest.empty() || newest[0].done_ns != 0 || newest[0].kind == OpKind::Enter)
    return false;
  entry = newest[0];
  return true;
}

std::string describe(const TraceEntry &e) {
  std::string text = op_name(e.kind);
  if (e.kind != OpKind::Enter) {
    text += " \"" + std::string(e.what) + "\"";
    if (e.comm[0])
      text += " of comm \"" + std::string(e.comm) + "\"";
    if (e.peer >= 0)
      text += (e.kind == OpKind::Send ? " to rank " : " from rank ") + std::to_string(e.peer) + ", tag " +
              std::to_string(e.tag);
    text += ", count " + std::to_string(e.count) + ", in";
  }
  text += " " + std::string(e.function);
  if (e.layer >= 0)
    text += ", layer " + std::to_string(e.layer);
  if (e.micro_batch >= 0)
    text += ", micro-batch " + std::to_string(e.micro_batch);
  return text;
}

static std::string milliseconds(int64_t ns) {
  return std::to_string(ns / 1000000) + "." + std::to_string(ns / 100000 % 10);
}

std::string Trace::report(int32_t rank, int64_t count) const {
  std::vector<TraceEntry> entries = last(count);
  std::string text = "last operations of rank " + std::to_string(rank) + ", newest last:";
  if (entries.empty())
    text += " none";
  for (const TraceEntry &e : entries) {
    text += "\n  #" + std::to_string(e.sequence) + " " + describe(e) + ": ";
    if (e.done_ns != 0 && e.kind != OpKind::Enter)
      text += "done after " + milliseconds(e.done_ns - e.issued_ns) + " ms";
    else
      text += "issued " + milliseconds(now_ns() - e.issued_ns) + " ms ago";
  }
  return text + "\n";
}

} // namespace lf::rt
