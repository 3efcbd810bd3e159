// communicator.cpp - collectives of one group.
//
// Idea: device arrays go to NCCL as they are. Host arrays (sums of a step, checkpoints) are gathered in pieces by way
// of the device and combined on the host in the order of ranks, so that their bits are those of every other transport.
#include "comm/nccl/communicator.h"

#include "comm/reduce.h"
#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

namespace lf::rt::nccl {
namespace {

/// Of a member's host array that goes by way of the device at once: all members' together are at most 16 MiB.
int64_t piece_of(int64_t members) {
  return std::clamp<int64_t>((int64_t(16) << 20) / members / 256 * 256, 256, int64_t(1) << 20);
}

ncclDataType_t type_of(lf_dtype dtype) {
  return dtype == LF_F64 ? ncclFloat64 : dtype == LF_F32 ? ncclFloat32 : ncclBfloat16;
}

class NcclCommunicator final : public Communicator {
public:
  NcclCommunicator(std::shared_ptr<Session> session, lf_rank &c, std::string name, std::vector<int32_t> members,
                   int32_t index, const std::function<ncclComm_t()> &join)
      : Communicator(std::move(name), std::move(members), index, {c.trace.get(), &c.at}), session_(std::move(session)),
        c_(c), piece_bytes_(piece_of(size())) {
    if (size() == 1)
      return;
    const size_t all = static_cast<size_t>((size() + 1) * piece_bytes_);
    LF_CUDA(cudaMalloc(reinterpret_cast<void **>(&stage_), all));
    LF_CUDA(cudaMemset(stage_, 0, all));
    LF_CUDA(cudaMallocHost(reinterpret_cast<void **>(&host_), static_cast<size_t>(size() * piece_bytes_)));
    comm_ = session_->add(join());
  }

  ~NcclCommunicator() override {
    if (comm_)
      session_->remove(comm_);
    cudaFree(stage_);
    cudaFreeHost(host_);
  }

private:
  void run(const Call &call) override {
    if (session_->control().failed())
      throw session_->stopped("nothing: it was computing");
    if (call.count > 0 && cuda(&c_).holds(call.x))
      run_on_device(call);
    else
      run_on_host(call);
  }

  void run_alone(const Call &call) override {
    if (cuda(&c_).holds(call.x))
      cuda(&c_).copy(call.y, call.x, call.count * call.size, call.stream);
    else
      Communicator::run_alone(call);
  }

  void run_on_device(const Call &);
  void run_on_host(const Call &);

  std::shared_ptr<Session> session_;
  lf_rank &c_;
  ncclComm_t comm_ = nullptr;
  int64_t piece_bytes_;
  char *stage_ = nullptr; ///< on the device: a piece of every member, then one of this rank
  char *host_ = nullptr;  ///< pinned: a piece of every member
};

void NcclCommunicator::run_on_device(const Call &call) {
  cudaStream_t stream = cuda(&c_).stream(call.stream);
  const size_t count = static_cast<size_t>(call.count), bytes = static_cast<size_t>(call.count * call.size);
  const ncclRedOp_t op = call.reduction == LF_MAX ? ncclMax : ncclSum;
  const ncclDataType_t type = type_of(call.dtype);
  switch (call.kind) {
  case OpKind::AllGather:
    return LF_NCCL(*session_, ncclAllGather(call.x, call.y, bytes, ncclInt8, comm_, stream));
  case OpKind::ReduceScatter:
    return LF_NCCL(*session_, ncclReduceScatter(call.x, call.y, count, type, op, comm_, stream));
  case OpKind::AllReduce:
    return LF_NCCL(*session_, ncclAllReduce(call.x, call.y, count, type, op, comm_, stream));
  case OpKind::Broadcast:
    return LF_NCCL(*session_, ncclBroadcast(call.x, call.y, bytes, ncclInt8, call.root, comm_, stream));
  case OpKind::AllToAll:
    LF_NCCL(*session_, ncclGroupStart());
    for (int32_t i = 0; i < size(); ++i) {
      LF_NCCL(*session_, ncclSend(static_cast<const char *>(call.x) + static_cast<size_t>(i) * bytes, bytes, ncclInt8,
                                  i, comm_, stream));
      LF_NCCL(*session_, ncclRecv(static_cast<char *>(call.y) + static_cast<size_t>(i) * bytes, bytes, ncclInt8, i,
                                  comm_, stream));
    }
    return LF_NCCL(*session_, ncclGroupEnd());
  default:
    throw Failure{5, "expected \"" + std::string(call.what) + "\", a " + op_name(call.kind) +
                         ", to have its data on the host, got an address of the device"};
  }
}

void NcclCommunicator::run_on_host(const Call &call) {
  cuda(&c_).host_decides("the host takes part in a collective");
  const int64_t n = size(), bytes = call.count * call.size;
  const bool blocks = call.kind == OpKind::ReduceScatter || call.kind == OpKind::AllToAll; // x holds n blocks
  const int64_t given = call.kind == OpKind::Barrier ? 1 : blocks ? n * bytes : bytes;
  cudaStream_t stream = cuda(&c_).stream(0);
  char *mine = stage_ + n * piece_bytes_, *y = static_cast<char *>(call.y);
  std::vector<const void *> sources(static_cast<size_t>(n));
  for (int64_t begin = 0; begin < given; begin += piece_bytes_) {
    const int64_t length = std::min(piece_bytes_, given - begin);
    const size_t piece = static_cast<size_t>(length);
    if (call.x)
      LF_CUDA(cudaMemcpyAsync(mine, static_cast<const char *>(call.x) + begin, piece, cudaMemcpyHostToDevice, stream));
    LF_NCCL(*session_, ncclAllGather(mine, stage_, piece, ncclInt8, comm_, stream));
    LF_CUDA(cudaMemcpyAsync(host_, stage_, static_cast<size_t>(n) * piece, cudaMemcpyDeviceToHost, stream));
    finish(c_, stream, std::string(op_name(call.kind)) + " \"" + call.what + "\" of comm \"" + name() + "\"");
    // The part of this piece that this rank wants of each member, [from, to) of what the member gave.
    const int64_t from = blocks ? std::max(begin, rank() * bytes) : begin;
    const int64_t to = blocks ? std::min(begin + length, (rank() + 1) * bytes) : begin + length;
    const int64_t at = blocks ? from - rank() * bytes : from; // in a block of y
    if (from >= to || call.kind == OpKind::Barrier)
      continue;
    auto part = [&](int64_t i) { return host_ + i * length + (from - begin); };
    const size_t wanted = static_cast<size_t>(to - from);
    switch (call.kind) {
    case OpKind::AllGather:
    case OpKind::AllToAll:
    case OpKind::Gather:
      for (int64_t i = 0; i < n && (call.kind != OpKind::Gather || call.root == rank()); ++i)
        std::memcpy(y + i * bytes + at, part(i), wanted);
      break;
    case OpKind::Broadcast:
      std::memcpy(y + at, part(call.root), wanted);
      break;
    default:
      for (int64_t i = 0; i < n; ++i)
        sources[static_cast<size_t>(i)] = part(i);
      reduce_in_order(sources.data(), size(), y + at, (to - from) / call.size, call.dtype, call.reduction);
      break;
    }
  }
}

} // namespace

std::unique_ptr<Communicator> make_communicator(std::shared_ptr<Session> session, lf_rank &c, std::string name,
                                                std::vector<int32_t> members, int32_t index,
                                                const std::function<ncclComm_t()> &join) {
  return std::make_unique<NcclCommunicator>(std::move(session), c, std::move(name), std::move(members), index, join);
}

} // namespace lf::rt::nccl
