// mpi.cpp - the transport of an mpi job.
//
// Idea: a collective is one exchange between all pairs of its group: first a packet with the header (and the data, when
// it is at most 4 KiB), which also tells who is late or issues something else, then the data. Cost: n - 1 messages of
// a member instead of about log n, but the bytes of a ring; sums are made locally, in rank order, from n pieces.
#include "comm/mpi/mpi.h"

#include "comm/reduce.h"

#include <mpi.h>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <thread>

namespace lf::rt {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int64_t small_bytes = 4096;
constexpr int64_t piece_bytes = int64_t(1) << 30; ///< MPI counts are int
constexpr int abort_tag = 0, ack_tag = 1;         ///< of the collectives' communicator; groups follow

void check_mpi(int result, const char *call) {
  if (result == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Failure{5, "expected " + std::string(call) + " to succeed, got \"" + text + "\""};
}
#define LF_MPI(call, ...) check_mpi(call(__VA_ARGS__), #call)

/// Sent by a rank that fails to every other.
struct AbortMessage {
  int32_t code, culprit;
  char text[1528];
};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// The process's part of the job; one for the life of the process.
struct Session {
  MPI_Comm collectives = MPI_COMM_NULL, messages = MPI_COMM_NULL;
  int rank = 0, world = 1, max_tag = 32767;
  int heard = 0;               ///< ranks that have said that they stop, by an abort or an acknowledgement
  bool stopped = false;        ///< an abort of another rank has come
  AbortMessage first{};
  std::vector<MPI_Request> farewell;
  AbortMessage mine{};

  /// Looks for aborts; true once one has come.
  bool listen() {
    for (int tag : {abort_tag, ack_tag})
      for (;;) {
        int flag = 0;
        MPI_Status status;
        LF_MPI(MPI_Iprobe, MPI_ANY_SOURCE, tag, collectives, &flag, &status);
        if (!flag)
          break;
        AbortMessage message{};
        LF_MPI(MPI_Recv, &message, sizeof message, MPI_BYTE, status.MPI_SOURCE, tag, collectives, MPI_STATUS_IGNORE);
        ++heard;
        if (tag == abort_tag && !stopped) {
          stopped = true;
          first = message;
        }
      }
    return stopped;
  }

  void tell(int tag, int to, size_t bytes) {
    farewell.emplace_back();
    LF_MPI(MPI_Isend, &mine, static_cast<int>(bytes), MPI_BYTE, to, tag, collectives, &farewell.back());
  }
};

Session &session() {
  static Session *one = new Session; // lives until MPI_Finalize, which runs at exit
  return *one;
}

void sleep_20us() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Waiting for requests, with the timeout, aborts and names of who is late. One for each transport.
class Waiter {
public:
  Waiter(const Attached &attached, const double &timeout) : attached_(attached), timeout_(timeout) {}

  template <class Ready, class Missing> void wait(Ready ready, Missing missing) {
    Clock::time_point deadline{};
    for (int64_t i = 0;; ++i) {
      if (ready())
        return;
      if (i % 16 == 0 && session().listen())
        throw stopped(missing() + " at " + operation());
      if (i < 300) {
        sched_yield();
        continue;
      }
      if (i == 300)
        deadline = after(timeout_);
      else if (Clock::now() > deadline)
        late(missing());
      sleep_20us();
    }
  }

  Stopped stopped(const std::string &waits) {
    const AbortMessage &m = session().first;
    return Stopped({m.code, "rank " + std::to_string(m.culprit) + " failed: " + m.text}, waits);
  }

  const Attached &attached() const { return attached_; }

private:
  std::string operation() const {
    TraceEntry entry;
    return attached_.trace->waiting(entry) ? describe(entry) : "a call";
  }
  [[noreturn]] void late(const std::string &missing) {
    std::string seconds = std::to_string(timeout_);
    throw Failure{5, "expected " + missing + " to arrive within " + seconds.substr(0, seconds.find('.') + 3) + " s at " +
                         operation() +
                         ", got nothing (to allow more time: --distributed-timeout-minutes or LF_TIMEOUT_SECONDS)"};
  }

  Attached attached_;
  const double &timeout_;
};

// ---- Collectives -----------------------------------------------------------------------------------------------------

class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(std::string name, std::vector<int32_t> members, int32_t rank, int number, Waiter &waiter)
      : Communicator(std::move(name), std::move(members), rank, waiter.attached()), waiter_(waiter),
        tag_(2 + 2 * number), give_(size()), take_(size()), out_(size()), in_(size()) {}

private:
  struct Piece {
    char *data = nullptr;
    int64_t bytes = 0;
  };
  struct Packet {
    Header header;
    char small[small_bytes];
  };

  void run(const Call &) override;
  void meet(const Call &, bool small);
  void exchange();
  void finish_requests();
  void post(bool send, int32_t member, char *data, int64_t bytes, int tag);
  char *scratch(int64_t bytes);
  void copy_own() {
    if (give_[rank()].bytes > 0 && take_[rank()].bytes > 0 && give_[rank()].data != take_[rank()].data)
      std::memcpy(take_[rank()].data, give_[rank()].data, static_cast<size_t>(give_[rank()].bytes));
  }
  void reduce(const Call &, char *y, int64_t count);

  Waiter &waiter_;
  int tag_; ///< headers; tag_ + 1: data
  uint64_t collectives_ = 0;
  std::vector<Piece> give_, take_; ///< to and from each member
  std::vector<Packet> out_, in_;
  std::vector<MPI_Request> requests_;
  std::vector<int32_t> owners_; ///< of requests_: world rank for receives, -1 for sends
  std::vector<char> scratch_;
  std::vector<const void *> sources_;
};

void MpiCommunicator::post(bool send, int32_t member, char *data, int64_t bytes, int tag) {
  for (int64_t begin = 0; begin < bytes; begin += piece_bytes) {
    int length = static_cast<int>(std::min(piece_bytes, bytes - begin));
    requests_.emplace_back();
    owners_.push_back(send ? -1 : members()[member]);
    if (send)
      LF_MPI(MPI_Isend, data + begin, length, MPI_BYTE, members()[member], tag, session().collectives,
             &requests_.back());
    else
      LF_MPI(MPI_Irecv, data + begin, length, MPI_BYTE, members()[member], tag, session().collectives,
             &requests_.back());
  }
}

void MpiCommunicator::finish_requests() {
  auto ready = [&] {
    int flag = 0;
    LF_MPI(MPI_Testall, static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  };
  auto missing = [&] {
    std::vector<int32_t> late;
    for (size_t i = 0; i < requests_.size(); ++i) {
      int flag = 0;
      LF_MPI(MPI_Request_get_status, requests_[i], &flag, MPI_STATUS_IGNORE);
      if (!flag && owners_[i] >= 0 && std::find(late.begin(), late.end(), owners_[i]) == late.end())
        late.push_back(owners_[i]);
    }
    return late.empty() ? "those who receive" : (late.size() > 1 ? "ranks " : "rank ") + join(late);
  };
  waiter_.wait(ready, missing);
  requests_.clear();
  owners_.clear();
}

char *MpiCommunicator::scratch(int64_t bytes) {
  if (static_cast<int64_t>(scratch_.size()) < bytes)
    scratch_.resize(static_cast<size_t>(bytes));
  return scratch_.data();
}

// Exchanges packets with everybody, and checks that all issue the same.
void MpiCommunicator::meet(const Call &call, bool small) {
  const Header header = make_header(call, ++collectives_, at());
  for (int32_t i = 0; i < size(); ++i) {
    if (i == rank())
      continue;
    out_[i].header = header;
    int64_t inlined = small ? give_[i].bytes : 0;
    if (inlined > 0)
      std::memcpy(out_[i].small, give_[i].data, static_cast<size_t>(inlined));
    post(false, i, reinterpret_cast<char *>(&in_[i]), sizeof(Packet), tag_);
    post(true, i, reinterpret_cast<char *>(&out_[i]), static_cast<int64_t>(sizeof(Header)) + inlined, tag_);
  }
  finish_requests();
  in_[rank()].header = header;
  for (int32_t i = 1; i < size(); ++i)
    if (!agree(in_[0].header, in_[i].header))
      throw Failure{5, disagreement(name(), members()[0], in_[0].header, members()[i], in_[i].header)};
  for (int32_t i = 0; small && i < size(); ++i)
    if (i != rank() && take_[i].bytes > 0)
      std::memcpy(take_[i].data, in_[i].small, static_cast<size_t>(take_[i].bytes));
}

// Moves the pieces.
void MpiCommunicator::exchange() {
  for (int32_t i = 0; i < size(); ++i)
    if (i != rank())
      post(false, i, take_[i].data, take_[i].bytes, tag_ + 1);
  for (int32_t i = 0; i < size(); ++i)
    if (i != rank())
      post(true, i, give_[i].data, give_[i].bytes, tag_ + 1);
  finish_requests();
}

void MpiCommunicator::reduce(const Call &call, char *y, int64_t count) {
  sources_.clear();
  for (const Piece &piece : take_)
    sources_.push_back(piece.data);
  reduce_in_order(sources_.data(), size(), y, count, call.dtype, call.reduction);
}

void MpiCommunicator::run(const Call &call) {
  const int64_t n = size(), bytes = call.count * call.size;
  const bool small = bytes <= small_bytes, split = call.kind == OpKind::AllReduce && !small;
  const int64_t part = (call.count + n - 1) / n; // of a split all_reduce, in elements
  auto begin = [&](int64_t i) { return std::min(call.count, i * part) * call.size; };
  char *x = static_cast<char *>(const_cast<void *>(call.x)), *y = static_cast<char *>(call.y);
  const int64_t own = begin(rank() + 1) - begin(rank());
  const bool reduces = call.kind == OpKind::AllReduce || call.kind == OpKind::ReduceScatter;
  char *pieces = reduces ? scratch(n * (split ? own : bytes)) : nullptr;

  for (int64_t i = 0; i < n; ++i) {
    const bool to_root = i == call.root, is_root = rank() == call.root;
    Piece give, take;
    switch (call.kind) {
    case OpKind::AllGather:
      give = {x, bytes}, take = {y + i * bytes, bytes};
      break;
    case OpKind::AllToAll:
      give = {x + i * bytes, bytes}, take = {y + i * bytes, bytes};
      break;
    case OpKind::ReduceScatter:
      give = {x + i * bytes, bytes}, take = {pieces + i * bytes, bytes};
      break;
    case OpKind::AllReduce:
      if (split)
        give = {x + begin(i), begin(i + 1) - begin(i)}, take = {pieces + i * own, own};
      else
        give = {x, bytes}, take = {pieces + i * bytes, bytes};
      break;
    case OpKind::Broadcast:
      give = {x, is_root ? bytes : 0}, take = {y, to_root && !is_root ? bytes : 0};
      break;
    case OpKind::Gather:
      give = {x, to_root ? bytes : 0}, take = {y ? y + i * bytes : nullptr, is_root ? bytes : 0};
      break;
    default: // a barrier has no data
      break;
    }
    give_[i] = give;
    take_[i] = take;
  }
  meet(call, small);
  if (!small)
    exchange();
  copy_own();
  if (call.kind == OpKind::ReduceScatter)
    reduce(call, y, call.count);
  else if (call.kind == OpKind::AllReduce)
    reduce(call, split ? y + begin(rank()) : y, split ? own / call.size : call.count);
  if (!split)
    return;
  for (int64_t i = 0; i < n; ++i) {
    give_[i] = {y + begin(rank()), own};
    take_[i] = {y + begin(i), begin(i + 1) - begin(i)};
  }
  exchange();
}

// ---- Transport -------------------------------------------------------------------------------------------------------

class MpiTransport final : public Transport {
public:
  explicit MpiTransport(const Attached &attached)
      : Transport(session().rank, session().world, attached), waiter_(attached, timeout_seconds) {}

  // Messages that nobody has received yet must not be lost when the last step is over.
  ~MpiTransport() override {
    Clock::time_point deadline = after(session().stopped || session().mine.code ? 0.0 : 10.0);
    while (!sends_.empty() && Clock::now() < deadline) {
      reclaim();
      sleep_20us();
    }
    if (!sends_.empty())
      new std::deque<Buffered>(std::move(sends_)); // MPI still reads them: given up, not freed
  }

  const char *name() const override { return "mpi"; }

  std::unique_ptr<Communicator> make_group(const std::string &name, std::vector<int32_t> members) override {
    int32_t index = static_cast<int32_t>(std::find(members.begin(), members.end(), rank()) - members.begin());
    return std::make_unique<MpiCommunicator>(name, std::move(members), index, groups_++, waiter_);
  }

  void poll() override {
    reclaim();
    if (session().listen())
      throw waiter_.stopped("nothing: it was computing");
  }

  // Also keeps ranks that are done from spinning in MPI_Finalize, and lets them hear of failures.
  void leave() override {
    MPI_Request request;
    LF_MPI(MPI_Ibarrier, session().collectives, &request);
    for (;;) {
      int flag = 0;
      LF_MPI(MPI_Test, &request, &flag, MPI_STATUS_IGNORE);
      if (flag)
        return;
      reclaim();
      if (session().listen())
        throw waiter_.stopped("the others to finish");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  void abort(const Failure &failure) override {
    Session &s = session();
    s.mine.code = failure.code;
    s.mine.culprit = rank();
    for (size_t i = 0; i + 1 < sizeof s.mine.text && i < failure.message.size(); ++i)
      s.mine.text[i] = failure.message[i];
    for (int32_t other = 0; other < world(); ++other)
      if (other != rank())
        s.tell(abort_tag, other, sizeof s.mine);
  }

private:
  struct Buffered {
    std::vector<char> data;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void check_tag(const Call &call) {
    if (call.tag < 0 || call.tag > session().max_tag)
      throw Failure{5, "expected the tag of " + std::string(op_name(call.kind)) + " \"" + call.what +
                           "\" to be between 0 and " + std::to_string(session().max_tag) + ", the largest of this MPI, "
                           "got " + std::to_string(call.tag)};
  }

  // Takes buffers of finished sends back, oldest first.
  void reclaim() {
    while (!sends_.empty()) {
      int flag = 0;
      LF_MPI(MPI_Test, &sends_.front().request, &flag, MPI_STATUS_IGNORE);
      if (!flag)
        return;
      free_.push_back(std::move(sends_.front().data));
      sends_.pop_front();
    }
  }

  void run_send(const Call &call) override {
    check_tag(call);
    poll();
    const int64_t bytes = call.count * call.size;
    for (int64_t begin = 0; begin == 0 || begin < bytes; begin += piece_bytes) {
      int64_t length = std::min(piece_bytes, bytes - begin);
      Buffered &send = sends_.emplace_back();
      if (!free_.empty()) {
        send.data = std::move(free_.back());
        free_.pop_back();
      }
      send.data.resize(static_cast<size_t>(length));
      if (length > 0)
        std::memcpy(send.data.data(), static_cast<const char *>(call.x) + begin, static_cast<size_t>(length));
      LF_MPI(MPI_Isend, send.data.data(), static_cast<int>(length), MPI_BYTE, call.peer, call.tag, session().messages,
             &send.request);
    }
  }

  void run_recv(const Call &call) override {
    check_tag(call);
    const int64_t bytes = call.count * call.size;
    auto missing = [&] { return "rank " + std::to_string(call.peer); };
    for (int64_t begin = 0; begin == 0 || begin < bytes; begin += piece_bytes) {
      int length = static_cast<int>(std::min(piece_bytes, bytes - begin));
      MPI_Message message = MPI_MESSAGE_NULL;
      MPI_Status status;
      auto arrived = [&] {
        int flag = 0;
        LF_MPI(MPI_Improbe, call.peer, call.tag, session().messages, &flag, &message, &status);
        reclaim();
        return flag != 0;
      };
      waiter_.wait(arrived, missing);
      int got = 0;
      LF_MPI(MPI_Get_count, &status, MPI_BYTE, &got);
      if (got != length)
        throw Failure{5, "expected " + std::to_string(call.count) + " elements of " + std::to_string(call.size) +
                             " bytes for recv \"" + call.what + "\" from rank " + std::to_string(call.peer) + ", tag " +
                             std::to_string(call.tag) + ", got a message of " + std::to_string(begin + got) + " bytes"};
      MPI_Request request;
      LF_MPI(MPI_Imrecv, static_cast<char *>(call.y) + begin, length, MPI_BYTE, &message, &request);
      auto complete = [&] {
        int flag = 0;
        LF_MPI(MPI_Test, &request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
      };
      waiter_.wait(complete, missing);
    }
  }

  Waiter waiter_;
  int groups_ = 0;
  std::deque<Buffered> sends_;
  std::vector<std::vector<char>> free_;
};

} // namespace

// ---- The process -----------------------------------------------------------------------------------------------------

int32_t join_mpi(int32_t world, const std::string &variable) {
  Session &s = session();
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int provided = 0;
    LF_MPI(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    std::atexit([] { MPI_Finalize(); });
    LF_MPI(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    LF_MPI(MPI_Comm_rank, MPI_COMM_WORLD, &s.rank);
    LF_MPI(MPI_Comm_size, MPI_COMM_WORLD, &s.world);
  }
  if (s.world != world)
    throw Failure{2, "expected MPI to connect " + std::to_string(world) + " ranks, as " + variable + " says, got " +
                         std::to_string(s.world) +
                         "; ranks on the cpu reach one another by MPI: start them with the mpirun or mpiexec (or srun) "
                         "of the MPI that this program was built with, or start it alone to run every rank as a thread"};
  if (s.collectives == MPI_COMM_NULL) {
    LF_MPI(MPI_Comm_dup, MPI_COMM_WORLD, &s.collectives);
    LF_MPI(MPI_Comm_dup, MPI_COMM_WORLD, &s.messages);
    int *bound = nullptr, found = 0;
    LF_MPI(MPI_Comm_get_attr, MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found)
      s.max_tag = *bound;
  }
  return s.rank;
}

std::shared_ptr<Transport> make_mpi_transport(const Attached &attached) {
  return std::make_shared<MpiTransport>(attached);
}

void end_mpi_job(int code, double grace_seconds) {
  Session &s = session();
  const bool culprit = s.mine.code != 0;
  try {
    if (!culprit)
      s.tell(ack_tag, s.first.culprit, 8);
    // The culprit waits for everybody's report; the others wait for it to end the job, a little longer.
    Clock::time_point deadline = after(culprit ? grace_seconds : 2.0 * grace_seconds + 1.0);
    while (Clock::now() < deadline && !(culprit && s.heard >= s.world - 1)) {
      s.listen();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const Failure &) { // MPI itself is broken: what is left is to end
  }
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

} // namespace lf::rt
