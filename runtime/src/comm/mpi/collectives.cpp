// collectives.cpp - collectives of an mpi job.
//
// Idea: a collective is one exchange between all pairs of its group: first a packet with the header (and the data, when
// it is at most 4 KiB), which also tells who is late or issues something else, then the data. Cost: n - 1 messages of
// a member instead of about log n, but the bytes of a ring; sums are made locally, in rank order, from n pieces.
#include "comm/mpi/session.h"

#include "comm/reduce.h"

#include <algorithm>
#include <cstring>

namespace lf::rt::mpi {
namespace {

constexpr int64_t small_bytes = 4096;

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

} // namespace

std::unique_ptr<Communicator> make_mpi_communicator(std::string name, std::vector<int32_t> members, int32_t rank,
                                                    int number, Waiter &waiter) {
  return std::make_unique<MpiCommunicator>(std::move(name), std::move(members), rank, number, waiter);
}

} // namespace lf::rt::mpi
