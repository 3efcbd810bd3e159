// mpi.cpp - the transport of an mpi job: groups, buffered messages, failures.
//
// Idea: a send copies and posts; a receive looks for its message first, so that another size is named, not truncated. A
// receive that is posted ahead goes straight to its place: a large message then moves while the rank computes.
#include "comm/mpi/mpi.h"

#include "comm/mpi/session.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace lf::rt {
namespace {

using namespace mpi;

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
    return make_mpi_communicator(name, std::move(members), index, groups_++, waiter_);
  }

  void open_channel(int32_t, int32_t, bool, int64_t) override {} // MPI_Init has connected all

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

  void abort(const Failure &failure) override { tell_mpi_job(failure); }

private:
  struct Buffered {
    std::vector<char> data;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  struct Posted {
    int32_t peer = 0, tag = 0;
    std::vector<MPI_Request> pieces;
  };

  void check_tag(const Call &call) {
    if (call.tag < 0 || call.tag > session().max_tag)
      throw Failure{5, "expected the tag of " + std::string(op_name(call.kind)) + " \"" + call.what +
                           "\" to be between 0 and " + std::to_string(session().max_tag) +
                           ", the largest of this MPI, "
                           "got " +
                           std::to_string(call.tag)};
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
        throw wrong_size(call, std::to_string(begin + got));
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

  void run_post(const Call &call) override {
    check_tag(call);
    poll();
    Posted &post = posted_.emplace_back(Posted{call.peer, call.tag, {}});
    const int64_t bytes = call.count * call.size;
    for (int64_t begin = 0; begin == 0 || begin < bytes; begin += piece_bytes)
      LF_MPI(MPI_Irecv, static_cast<char *>(call.y) + begin, static_cast<int>(std::min(piece_bytes, bytes - begin)),
             MPI_BYTE, call.peer, call.tag, session().messages, &post.pieces.emplace_back());
  }

  void run_wait(const Call &call) override {
    auto post = std::find_if(posted_.begin(), posted_.end(),
                             [&](const Posted &p) { return p.peer == call.peer && p.tag == call.tag; });
    std::vector<MPI_Request> pieces = std::move(post->pieces);
    posted_.erase(post);
    const int64_t bytes = call.count * call.size;
    for (int64_t begin = 0; MPI_Request &piece : pieces) {
      int result = MPI_SUCCESS, got = 0;
      MPI_Status status;
      auto complete = [&] {
        int flag = 0;
        result = MPI_Test(&piece, &flag, &status);
        reclaim();
        return result != MPI_SUCCESS || flag != 0;
      };
      waiter_.wait(complete, [&] { return "rank " + std::to_string(call.peer); });
      int error = MPI_SUCCESS;
      if (result != MPI_SUCCESS)
        MPI_Error_class(result, &error);
      if (error == MPI_ERR_TRUNCATE)
        throw wrong_size(call, "more than " + std::to_string(bytes));
      check_mpi(result, "MPI_Test");
      LF_MPI(MPI_Get_count, &status, MPI_BYTE, &got);
      if (got != std::min(piece_bytes, bytes - begin))
        throw wrong_size(call, std::to_string(begin + got));
      begin += piece_bytes;
    }
  }

  static Failure wrong_size(const Call &call, const std::string &got) {
    return {5, "expected " + std::to_string(call.count) + " elements of " + std::to_string(call.size) +
                   " bytes for recv \"" + call.what + "\" from rank " + std::to_string(call.peer) + ", tag " +
                   std::to_string(call.tag) + ", got a message of " + got + " bytes"};
  }

  Waiter waiter_;
  int groups_ = 0;
  std::vector<Posted> posted_; ///< oldest first
  std::deque<Buffered> sends_;
  std::vector<std::vector<char>> free_;
};

} // namespace

std::shared_ptr<Transport> make_mpi_transport(const Attached &attached) {
  return std::make_shared<MpiTransport>(attached);
}

} // namespace lf::rt
