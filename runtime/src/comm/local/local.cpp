// local.cpp - collectives and messages between threads.
//
// Idea: contributions of at most 4 KiB are copied into the slot, which makes one meeting enough; larger ones are read
// where they lie, which takes a second meeting before they may be reused. Slots are double: what a member wrote for its
// collective number t is overwritten by number t + 2, which it starts only after all have come to t + 1, hence left t.
// On a device the same meetings order the issue, and each is followed by waiting for the others' marks: a mark is
// recorded anew only after a meeting to which all came after they had waited for it.
#include "comm/local/local.h"

#include "comm/local/mailbox.h"
#include "comm/local/parking.h"
#include "comm/reduce.h"

#include <cstring>
#include <map>
#include <mutex>

namespace lf::rt {
namespace {

constexpr int64_t small_bytes = 4096;

struct alignas(64) Slot {
  std::atomic<uint64_t> arrived{0}; ///< number of meetings that the member has come to
  struct alignas(64) Published {
    Header header;
    const void *x;
    void *y;
    const DeviceMemory::Mark *marks; ///< one for each Phase
    char small[small_bytes];
  } published[2];
};

struct LocalGroup {
  explicit LocalGroup(size_t size) : slots(new Slot[size]) {}
  std::unique_ptr<Slot[]> slots;
  Parking parking;
};

} // namespace

struct LocalJob::State {
  std::mutex mutex;
  std::map<std::pair<int32_t, std::vector<int32_t>>, std::shared_ptr<LocalGroup>> groups; ///< by number and members
  Mailboxes mailboxes;
};

LocalJob::LocalJob(int32_t world) : world_(world), state_(new State) {}
LocalJob::~LocalJob() = default;

bool LocalJob::fail(int32_t rank, const Failure &failure) {
  if (taken_.exchange(true))
    return false;
  culprit_ = rank;
  failure_ = failure;
  failed_.store(true);
  return true;
}

namespace {

enum Phase { ready, reduced, finished, num_phases }; ///< moments of a collective on a device

Stopped stopped(const LocalJob &job, const std::string &waits) {
  return Stopped({job.failure().code, "rank " + std::to_string(job.culprit()) + " failed: " + job.failure().message},
                 waits);
}

// What a rank says when its wait is over without success: the cause, for the whole job or for itself.
[[noreturn]] void give_up(LocalJob &job, int32_t rank, const Attached &attached, double timeout,
                          Parking::Outcome outcome, const std::string &missing) {
  TraceEntry entry;
  std::string operation = attached.trace->waiting(entry) ? describe(entry) : "a call";
  if (outcome == Parking::Outcome::TimedOut) {
    std::string seconds = std::to_string(timeout);
    Failure failure{5, "expected " + missing + " to arrive within " + seconds.substr(0, seconds.find('.') + 3) +
                           " s at " + operation +
                           ", got nothing; the operations of all ranks below tell where they are (to allow more time: "
                           "--distributed-timeout-minutes or LF_TIMEOUT_SECONDS)"};
    if (job.fail(rank, failure))
      throw failure;
    while (!job.failed().load())
      std::this_thread::yield();
  }
  throw stopped(job, missing + " at " + operation);
}

Parking::Clock::time_point after(double seconds) {
  return Parking::Clock::now() +
         std::chrono::duration_cast<Parking::Clock::duration>(std::chrono::duration<double>(seconds));
}

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(std::string name, std::vector<int32_t> members, int32_t rank, const Attached &attached,
                    std::shared_ptr<LocalJob> job, std::shared_ptr<LocalGroup> group, const double &timeout,
                    DeviceMemory *memory)
      : Communicator(std::move(name), std::move(members), rank, attached), attached_(attached), job_(std::move(job)),
        group_(std::move(group)), timeout_(timeout), memory_(memory) {
    sources_.resize(size());
    if (memory_ && size() > 1)
      for (DeviceMemory::Mark &mark : marks_)
        mark = memory_->make_mark();
  }

private:
  void run(const Call &) override;
  void run_alone(const Call &) override;
  void meet();
  void meet(const Call &, Phase, DeviceMemory *);
  void check(uint64_t number);
  void all_reduce_large(const Call &, int parity, DeviceMemory *);
  void copy(const Call &, DeviceMemory *, char *to, const char *from, int64_t bytes);
  void reduce(const Call &, DeviceMemory *, char *y, int64_t count);
  Slot &slot(int32_t i) { return group_->slots[i]; }

  Attached attached_;
  std::shared_ptr<LocalJob> job_;
  std::shared_ptr<LocalGroup> group_;
  const double &timeout_; ///< of the transport
  uint64_t meetings_ = 0, collectives_ = 0;
  std::vector<const void *> sources_;
  DeviceMemory *memory_; ///< null: all arrays are the host's
  DeviceMemory::Mark marks_[num_phases] = {};
};

void LocalCommunicator::run_alone(const Call &call) {
  if (memory_ && memory_->holds(call.x))
    memory_->copy(call.y, call.x, call.count * call.size, call.stream);
  else
    Communicator::run_alone(call);
}

void LocalCommunicator::copy(const Call &call, DeviceMemory *device, char *to, const char *from, int64_t bytes) {
  if (device)
    device->copy(to, from, bytes, call.stream);
  else
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

// y = sum or maximum of sources_.
void LocalCommunicator::reduce(const Call &call, DeviceMemory *device, char *y, int64_t count) {
  if (device)
    device->reduce(sources_.data(), size(), y, count, call.dtype, call.reduction, call.stream);
  else
    reduce_in_order(sources_.data(), size(), y, count, call.dtype, call.reduction);
}

// What this rank issues from now on comes after what all members had issued when they came.
void LocalCommunicator::meet(const Call &call, Phase phase, DeviceMemory *device) {
  if (device)
    device->record(marks_[phase], call.stream);
  meet();
  for (int32_t i = 0; device && i < size(); ++i)
    if (i != rank())
      device->wait(call.stream, slot(i).published[collectives_ & 1].marks[phase]);
}

void LocalCommunicator::meet() {
  uint64_t phase = ++meetings_;
  auto complete = [&] {
    for (int32_t i = 0; i < size(); ++i)
      if (slot(i).arrived.load() < phase)
        return false;
    return true;
  };
  slot(rank()).arrived.store(phase);
  if (complete()) // only those who may be the last need to wake the others
    return group_->parking.wake();
  Parking::Outcome outcome = group_->parking.wait(complete, job_->failed(), after(timeout_));
  if (outcome == Parking::Outcome::Ready)
    return;
  std::vector<int32_t> missing;
  for (int32_t i = 0; i < size(); ++i)
    if (slot(i).arrived.load() < phase)
      missing.push_back(members()[i]);
  give_up(*job_, members()[rank()], attached_, timeout_, outcome,
          (missing.size() > 1 ? "ranks " : "rank ") + join(missing));
}

void LocalCommunicator::check(uint64_t number) {
  const Header &first = slot(0).published[number & 1].header;
  for (int32_t i = 1; i < size(); ++i) {
    const Header &other = slot(i).published[number & 1].header;
    if (agree(first, other))
      continue;
    Failure failure{5, disagreement(name(), members()[0], first, members()[i], other)};
    if (job_->fail(members()[rank()], failure))
      throw failure;
    while (!job_->failed().load())
      std::this_thread::yield();
    throw stopped(*job_, "nothing: it saw the same disagreement");
  }
}

void LocalCommunicator::all_reduce_large(const Call &call, int parity, DeviceMemory *device) {
  const int64_t n = size(), part = (call.count + n - 1) / n;
  auto begin = [&](int64_t i) { return std::min(call.count, i * part); };
  const int64_t mine = begin(rank()), length = begin(rank() + 1) - mine;
  for (int32_t i = 0; i < n; ++i)
    sources_[i] = static_cast<const char *>(slot(i).published[parity].x) + mine * call.size;
  // In place is safe: part `mine` of every x is read by this rank only.
  reduce(call, device, static_cast<char *>(call.y) + mine * call.size, length);
  meet(call, reduced, device);
  for (int32_t i = 0; i < n; ++i)
    if (i != rank() && begin(i) < begin(i + 1))
      copy(call, device, static_cast<char *>(call.y) + begin(i) * call.size,
           static_cast<const char *>(slot(i).published[parity].y) + begin(i) * call.size,
           (begin(i + 1) - begin(i)) * call.size);
}

void LocalCommunicator::run(const Call &call) {
  const int64_t n = size(), bytes = call.count * call.size;
  const uint64_t number = ++collectives_;
  const int parity = number & 1;
  const bool blocks = call.kind == OpKind::ReduceScatter || call.kind == OpKind::AllToAll; // x holds n blocks
  const int64_t given = blocks ? n * bytes : bytes;
  DeviceMemory *device = memory_ && bytes > 0 && memory_->holds(call.x) ? memory_ : nullptr;
  if (memory_)
    memory_->host_decides("ranks that are threads meet on the host");
  const bool small = !device && given <= small_bytes;
  if (job_->failed().load()) // do not meet ranks that are leaving: their buffers may be gone
    throw stopped(*job_, "nothing: it was computing");
  const bool gives = given > 0 && (call.kind != OpKind::Broadcast || call.root == rank());

  Slot::Published &mine = slot(rank()).published[parity];
  mine.header = make_header(call, number, at());
  mine.x = call.x;
  mine.y = call.y;
  mine.marks = marks_;
  if (small && gives)
    std::memcpy(mine.small, call.x, static_cast<size_t>(given));
  meet(call, ready, device);
  check(number);

  auto source = [&](int32_t i, int64_t block) {
    Slot::Published &p = slot(i).published[parity];
    return (small ? p.small : static_cast<const char *>(p.x)) + block * bytes;
  };
  char *y = static_cast<char *>(call.y);
  auto collect = [&](int64_t block) {
    for (int32_t i = 0; i < n && bytes > 0; ++i)
      copy(call, device, y + i * bytes, source(i, block), bytes);
  };
  auto combine = [&](int64_t block) {
    for (int32_t i = 0; i < n; ++i)
      sources_[i] = source(i, block);
    reduce(call, device, y, call.count);
  };
  switch (call.kind) {
  case OpKind::AllGather:
    collect(0);
    break;
  case OpKind::AllToAll:
    collect(rank());
    break;
  case OpKind::Gather:
    if (call.root == rank())
      collect(0);
    break;
  case OpKind::Broadcast:
    if (call.root != rank() && bytes > 0)
      copy(call, device, y, source(call.root, 0), bytes);
    break;
  case OpKind::ReduceScatter:
    combine(rank());
    break;
  case OpKind::AllReduce:
    small ? combine(0) : all_reduce_large(call, parity, device);
    break;
  default: // a barrier has no data
    break;
  }
  if (!small)
    meet(call, finished, device);
}

class LocalTransport final : public Transport {
public:
  LocalTransport(std::shared_ptr<LocalJob> job, int32_t rank, const Attached &attached)
      : Transport(rank, job->world(), attached), job_(std::move(job)) {}

  const char *name() const override { return "local"; }
  void abort(const Failure &failure) override { job_->fail(rank(), failure); }
  void leave() override {} // the threads are joined
  void open_channel(int32_t peer, int32_t tag, bool sends, int64_t) override {
    job_->state().mailboxes.find(sends ? rank() : peer, sends ? peer : rank(), tag);
  }

  std::unique_ptr<Communicator> make_group(const std::string &name, std::vector<int32_t> members) override {
    if (memory && groups_ == 0 && world() > 1)
      memory->reach_peers();
    LocalJob::State &state = job_->state();
    std::shared_ptr<LocalGroup> group;
    int32_t index = 0;
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] == rank())
        index = static_cast<int32_t>(i);
    {
      std::lock_guard<std::mutex> lock(state.mutex);
      std::shared_ptr<LocalGroup> &entry = state.groups[{groups_++, members}];
      if (!entry)
        entry = std::make_shared<LocalGroup>(members.size());
      group = entry;
    }
    return std::make_unique<LocalCommunicator>(name, std::move(members), index, attached_, job_, std::move(group),
                                               timeout_seconds, memory);
  }

  void poll() override {
    if (job_->failed().load())
      throw stopped(*job_, "nothing: it was computing");
  }

private:
  DeviceMemory *device_of(const Call &call, const void *p) {
    return memory && call.count > 0 && memory->holds(p) ? memory : nullptr;
  }

  void run_send(const Call &call) override {
    poll();
    if (memory)
      memory->host_decides("messages between ranks that are threads go by way of the host");
    job_->state().mailboxes.find(rank(), call.peer, call.tag).push(call, device_of(call, call.x));
  }

  void run_recv(const Call &call) override {
    Mailbox &box = job_->state().mailboxes.find(call.peer, rank(), call.tag);
    Parking::Outcome outcome = box.wait(job_->failed(), after(timeout_seconds));
    if (outcome != Parking::Outcome::Ready)
      give_up(*job_, rank(), attached_, timeout_seconds, outcome, "rank " + std::to_string(call.peer));
    box.pop(call, device_of(call, call.y));
  }

  // A message that was sent lies in memory that all threads share: there is nothing to start, and nothing that may write
  // to y of a rank that has failed meanwhile.
  void run_post(const Call &) override { poll(); }
  void run_wait(const Call &call) override { run_recv(call); }

  std::shared_ptr<LocalJob> job_;
  int32_t groups_ = 0;
};

} // namespace

std::shared_ptr<Transport> make_local_transport(std::shared_ptr<LocalJob> job, int32_t rank, const Attached &attached) {
  return std::make_shared<LocalTransport>(std::move(job), rank, attached);
}

} // namespace lf::rt
