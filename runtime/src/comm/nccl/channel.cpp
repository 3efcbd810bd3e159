// channel.cpp - see channel.h.
#include "comm/nccl/channel.h"

namespace lf::rt::nccl {

Channel::Channel(CudaDevice &device, int32_t from, int32_t to, int32_t tag, double timeout)
    : device_(device), role_(session().rank == from ? 0 : 1) {
  LF_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  LF_CUDA(cudaEventCreateWithFlags(&order_, cudaEventDisableTiming));
  opener_ = std::thread([this, from, to, tag, timeout] {
    try {
      open(from, to, tag, timeout);
    } catch (const Failure &failure) {
      failure_ = std::make_unique<Failure>(failure);
    }
    opened_ = true;
  });
}

Channel::~Channel() {
  if (opener_.joinable())
    opener_.join();
  if (comm_)
    session().remove(comm_);
  for (std::deque<Message> *list : {&queued_, &issued_})
    for (Message &message : *list)
      forget(message);
  cudaStreamDestroy(stream_);
  cudaEventDestroy(order_);
}

void Channel::forget(Message &message) {
  cudaFree(message.data);
  cudaEventDestroy(message.packed);
  cudaEventDestroy(message.sent);
}

void Channel::open(int32_t from, int32_t to, int32_t tag, double timeout) {
  LF_CUDA(cudaSetDevice(device_.ordinal()));
  std::string name = "/" + std::to_string(from) + "/" + std::to_string(to) + "/" + std::to_string(tag);
  std::string peer = "rank " + std::to_string(role_ == 0 ? to : from);
  ncclUniqueId id{};
  if (role_ == 0) {
    LF_NCCL(ncclGetUniqueId(&id));
    put_id("send" + name, id);
    get_id("receive" + name, timeout, peer);
  } else {
    id = get_id("send" + name, timeout, peer);
    put_id("receive" + name, id);
  }
  ncclComm_t comm = nullptr;
  LF_NCCL(ncclCommInitRank(&comm, 2, id, role_));
  comm_ = session().add(comm);
}

bool Channel::ready() {
  if (!opened_.load())
    return false;
  if (failure_)
    throw Failure(*failure_);
  return true;
}

void Channel::send(const void *x, int64_t bytes) {
  Message message;
  if (!issued_.empty() && issued_.front().capacity >= bytes && cudaEventQuery(issued_.front().sent) == cudaSuccess) {
    message = issued_.front();
    issued_.pop_front();
  } else {
    LF_CUDA(cudaMalloc(&message.data, static_cast<size_t>(std::max<int64_t>(bytes, 1))));
    message.capacity = bytes;
    LF_CUDA(cudaEventCreateWithFlags(&message.packed, cudaEventDisableTiming));
    LF_CUDA(cudaEventCreateWithFlags(&message.sent, cudaEventDisableTiming));
  }
  message.bytes = bytes;
  device_.copy(message.data, x, bytes, 0);
  LF_CUDA(cudaEventRecord(message.packed, device_.compute()));
  queued_.push_back(message);
  progress();
}

void Channel::progress() {
  while (!queued_.empty() && ready()) {
    Message message = queued_.front();
    LF_CUDA(cudaStreamWaitEvent(stream_, message.packed, 0));
    LF_NCCL(ncclSend(message.data, static_cast<size_t>(message.bytes), ncclInt8, 1, comm_, stream_));
    LF_CUDA(cudaEventRecord(message.sent, stream_));
    queued_.pop_front();
    issued_.push_back(message);
  }
}

void Channel::receive(void *y, int64_t bytes) {
  LF_CUDA(cudaEventRecord(order_, device_.compute()));
  LF_CUDA(cudaStreamWaitEvent(stream_, order_, 0));
  LF_NCCL(ncclRecv(y, static_cast<size_t>(bytes), ncclInt8, 0, comm_, stream_));
  LF_CUDA(cudaEventRecord(order_, stream_));
  LF_CUDA(cudaStreamWaitEvent(device_.compute(), order_, 0));
}

bool Channel::idle() {
  progress();
  return queued_.empty() && cudaStreamQuery(stream_) == cudaSuccess;
}

} // namespace lf::rt::nccl
