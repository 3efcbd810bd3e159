//===- VerifyMessages.cpp - S5 to S7: messages meet, nobody waits forever =====//
//
// Runs the events without time. Ranks are sequential and channels are queues with blocking ends, so the order in which
// ranks are tried cannot change which of them stop, and where.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/VerifySchedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

namespace lf {
namespace {

struct Channel {
  std::deque<std::pair<int64_t, int64_t>> queue; ///< micro-batch, index of the send
  std::deque<std::pair<int64_t, int64_t>> posts; ///< micro-batch, index of the post; not yet waited for
  int64_t from = 0, to = 0;
};

class Run {
public:
  Run(const EventPrograms &programs, int64_t buffers) : programs(programs), buffers(buffers), at(programs.size()) {
    for (int64_t rank = 0; rank < size(); ++rank)
      for (size_t i = 0; i < programs[rank].size(); ++i)
        addChannel(rank, static_cast<int64_t>(i));
  }

  std::vector<ScheduleFault> run() {
    if (!faults.empty())
      return faults;
    std::deque<int64_t> ready;
    for (int64_t rank = 0; rank < size(); ++rank)
      ready.push_back(rank);
    while (!ready.empty() && faults.empty()) {
      int64_t rank = ready.front();
      ready.pop_front();
      while (faults.empty() && at[rank] < length(rank)) {
        const Event &event = programs[rank][at[rank]];
        if (!step(rank, event))
          break;
        ++at[rank];
        if (event.kind != EventKind::run)
          ready.push_back(event.peer);
      }
    }
    if (faults.empty())
      reportWaits();
    if (faults.empty())
      reportLeftOver();
    return faults;
  }

private:
  int64_t size() const { return static_cast<int64_t>(programs.size()); }
  int64_t length(int64_t rank) const { return static_cast<int64_t>(programs[rank].size()); }

  void fault(const char *rule, int64_t rank, int64_t index, const std::string &what) {
    faults.push_back({rule, rank, index,
                      "rank " + std::to_string(rank) + ", action " +
                          std::to_string(actionIndex(programs[rank], index)) + " (event " + std::to_string(index) +
                          "): " + what});
  }

  void addChannel(int64_t rank, int64_t index) {
    const Event &event = programs[rank][index];
    if (event.kind == EventKind::run)
      return;
    if (event.peer < 0 || event.peer >= size() || event.peer == rank) {
      fault("S5", rank, index, describe(event) + ": expected another rank below " + std::to_string(size()));
      return;
    }
    Channel &c = channel(rank, event);
    c.from = event.kind == EventKind::send ? rank : event.peer;
    c.to = event.kind == EventKind::send ? event.peer : rank;
  }

  Channel &channel(int64_t rank, const Event &event) {
    bool sends = event.kind == EventKind::send;
    return channels[{sends ? rank : event.peer, sends ? event.peer : rank, event.tag}];
  }

  /// False if the event has to wait.
  bool step(int64_t rank, const Event &event) {
    if (event.kind == EventKind::run)
      return true;
    Channel &c = channel(rank, event);
    if (event.kind == EventKind::send) {
      if (static_cast<int64_t>(c.queue.size()) >= buffers)
        return false;
      c.queue.push_back({event.action.microBatch, at[rank]});
      return true;
    }
    if (event.kind == EventKind::post) {
      c.posts.push_back({event.action.microBatch, at[rank]});
      return true;
    }
    if (!checkPosts(rank, event, c) || c.queue.empty())
      return false;
    if (event.kind == EventKind::wait)
      c.posts.pop_front();
    auto [mb, index] = c.queue.front();
    if (mb != event.action.microBatch)
      fault("S5", rank, at[rank],
            describe(event) + ": expected the message of mb " + std::to_string(event.action.microBatch) + ", got mb " +
                std::to_string(mb) + " (event " + std::to_string(index) + " of rank " + std::to_string(event.peer) +
                ", tag " + std::to_string(event.tag) + ")");
    c.queue.pop_front();
    return true;
  }

  /// S7 of a receive, or of a wait.
  bool checkPosts(int64_t rank, const Event &event, const Channel &c) {
    auto of = [&](const std::pair<int64_t, int64_t> &post) {
      return "that of mb " + std::to_string(post.first) + " (event " + std::to_string(post.second) + ")";
    };
    if (event.kind == EventKind::receive && !c.posts.empty())
      fault("S7", rank, at[rank],
            describe(event) + ": expected no posted receive of tag " + std::to_string(event.tag) + " to be open, got " +
                of(c.posts.front()));
    else if (event.kind == EventKind::wait && (c.posts.empty() || c.posts.front().first != event.action.microBatch))
      fault("S7", rank, at[rank],
            describe(event) + ": expected its post to be the oldest open one of tag " + std::to_string(event.tag) +
                ", got " + (c.posts.empty() ? "none" : of(c.posts.front())));
    return faults.empty();
  }

  bool waits(int64_t rank) const { return at[rank] < length(rank); }

  std::string waitText(int64_t rank) const {
    return "rank " + std::to_string(rank) + " event " + std::to_string(at[rank]) + " (" +
           describe(programs[rank][at[rank]]) + ")";
  }

  /// S6 when waits form a cycle; S5 when a rank waits for one that has ended.
  void reportWaits() {
    std::vector<int64_t> seen(programs.size(), -1);
    for (int64_t start = 0; start < size(); ++start) {
      int64_t rank = start;
      while (waits(rank) && seen[rank] < 0) {
        seen[rank] = start;
        int64_t peer = programs[rank][at[rank]].peer;
        if (!waits(peer))
          fault("S5", rank, at[rank],
                describe(programs[rank][at[rank]]) + ": expected rank " + std::to_string(peer) + " to " +
                    (programs[rank][at[rank]].kind == EventKind::send ? "receive" : "send") +
                    " it, got the end of its program");
        rank = peer;
      }
      if (waits(rank) && seen[rank] == start)
        reportCycle(rank);
    }
  }

  void reportCycle(int64_t first) {
    std::string text = waitText(first);
    for (int64_t rank = programs[first][at[first]].peer; rank != first; rank = programs[rank][at[rank]].peer)
      text += " waits for " + waitText(rank);
    fault("S6", first, at[first],
          "cyclic wait (buffers a channel: " + std::to_string(buffers) + "): " + text + " waits for rank " +
              std::to_string(first));
  }

  void reportLeftOver() {
    for (const auto &[key, c] : channels)
      for (const auto &[mb, index] : c.queue)
        fault("S5", c.from, index,
              describe(programs[c.from][index]) + ": expected rank " + std::to_string(c.to) +
                  " to receive it, got the end of its program");
    for (const auto &[key, c] : channels)
      for (const auto &[mb, index] : c.posts)
        fault("S7", c.to, index,
              describe(programs[c.to][index]) + ": expected it to be waited for, got the end of the program");
  }

  const EventPrograms &programs;
  int64_t buffers;
  std::vector<int64_t> at; ///< next event of each rank
  std::map<std::array<int64_t, 3>, Channel> channels;
  std::vector<ScheduleFault> faults;
};

} // namespace

int64_t actionIndex(const std::vector<Event> &events, int64_t event) {
  int64_t runs = 0;
  for (int64_t i = 0; i < event; ++i)
    runs += events[i].kind == EventKind::run;
  return events[event].kind == EventKind::send ? runs - 1 : runs;
}

std::vector<ScheduleFault> verifyMessages(const EventPrograms &programs, int64_t buffers) {
  return Run(programs, std::max<int64_t>(buffers, 1)).run();
}

int64_t buffersNeeded(const SchedulingProblem &problem, const Programs &programs) {
  EventPrograms events = insertMessages(problem, programs);
  int64_t low = 1, high = std::max<int64_t>(1, problem.microBatches); // a channel never carries more
  if (!verifyMessages(events, high).empty())
    return 0;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (verifyMessages(events, middle).empty())
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

} // namespace lf
