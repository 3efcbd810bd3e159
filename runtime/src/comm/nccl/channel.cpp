// channel.cpp - see channel.h.
#include "comm/nccl/channel.h"

#include "lf/driver_memory.h"
#include "lf/scratch.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace lf::rt::nccl {

Channel::Channel(Session &session, CudaDevice &device, int32_t from, int32_t to, int32_t tag, int64_t bytes,
                 double timeout)
    : session_(session), device_(device),
      name_(std::to_string(from) + "/" + std::to_string(to) + "/" + std::to_string(tag)),
      role_(session.rank() == from ? 0 : 1), peer_(role_ == 0 ? to : from) {
  LF_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  std::string waits = std::string("the first ") + (role_ == 0 ? "receive" : "send") + " of rank " +
                      std::to_string(peer_) + (role_ == 0 ? " from" : " to") + " rank " +
                      std::to_string(session.rank()) + " with tag " + std::to_string(tag);
  ncclUniqueId id{};
  if (role_ == 0) {
    LF_NCCL(session_, ncclGetUniqueId(&id));
    session_.put_id("send/" + name_, id);
    session_.get_id("receive/" + name_, timeout, waits);
  } else {
    id = session_.get_id("send/" + name_, timeout, waits);
    session_.put_id("receive/" + name_, id);
  }
  ncclComm_t comm = nullptr;
  ncclConfig_t config = few_blocks(channel_blocks);
  LF_NCCL(session_, ncclCommInitRankConfig(&comm, 2, id, role_, &config));
  comm_ = session_.add(comm);
  connect();
  for (int64_t i = 0; i < message_places; ++i) {
    if (role_ == 1) {
      free_.push_back(make_post());
    } else if (bytes > 0) {
      issued_.push_back(make_message(bytes));
      LF_CUDA(cudaEventRecord(issued_.back().sent, stream_));
    }
  }
}

// NCCL connects two ranks at their first message, and each side waits for the other in that call: here both are.
void Channel::connect() {
  void *byte = nullptr;
  LF_CUDA(cudaMalloc(&byte, 1));
  if (role_ == 0)
    LF_NCCL(session_, ncclSend(byte, 1, ncclInt8, 1, comm_, stream_));
  else
    LF_NCCL(session_, ncclRecv(byte, 1, ncclInt8, 0, comm_, stream_));
  LF_CUDA(cudaStreamSynchronize(stream_));
  LF_CUDA(cudaFree(byte));
}

Channel::~Channel() {
  if (comm_)
    session_.remove(comm_);
  for (std::deque<Message> *list : {&queued_, &issued_})
    for (Message &message : *list)
      forget(message);
  free_.insert(free_.end(), posted_.begin(), posted_.end());
  for (Posted &post : free_) {
    cudaEventDestroy(post.unused);
    cudaEventDestroy(post.arrived);
  }
  cudaStreamDestroy(stream_);
}

void Channel::forget(Message &message) {
  cudaFree(message.data);
  cudaEventDestroy(message.packed);
  cudaEventDestroy(message.sent);
}

Channel::Message Channel::make_message(int64_t bytes) {
  Message message;
  message.capacity = std::max<int64_t>(bytes, 1);
  LF_CUDA(cudaMalloc(&message.data, static_cast<size_t>(message.capacity)));
  device_.count_message_place(message.capacity);
  LF_CUDA(cudaEventCreateWithFlags(&message.packed, cudaEventDisableTiming));
  LF_CUDA(cudaEventCreateWithFlags(&message.sent, cudaEventDisableTiming));
  return message;
}

Channel::Posted Channel::make_post() {
  Posted post;
  LF_CUDA(cudaEventCreateWithFlags(&post.unused, cudaEventDisableTiming));
  LF_CUDA(cudaEventCreateWithFlags(&post.arrived, cudaEventDisableTiming));
  return post;
}

// The device comes to a message without anything that the host has yet to issue: this wait ends however late receivers
// are.
bool Channel::behind() {
  std::lock_guard<std::mutex> lock(mutex_);
  return queued_.size() >= 2 && cudaEventQuery(queued_[queued_.size() - 2].packed) == cudaErrorNotReady;
}

void Channel::send(const void *x, int64_t bytes, const std::function<void()> &poll) {
  while (behind()) {
    poll();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  Message message;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!issued_.empty() && issued_.front().capacity >= bytes && cudaEventQuery(issued_.front().sent) == cudaSuccess) {
      message = issued_.front();
      issued_.pop_front();
    }
  }
  if (!message.data) // more are under way than ever before
    message = make_message(bytes);
  message.bytes = bytes;
  device_.copy(message.data, x, bytes, 0);
  LF_CUDA(cudaEventRecord(message.packed, device_.compute()));
  std::lock_guard<std::mutex> lock(mutex_);
  queued_.push_back(message);
}

bool Channel::advance() { return role_ == 0 ? advance_send() : advance_receive(); }

bool Channel::advance_send() {
  Message message;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queued_.empty())
      return false;
    message = queued_.front();
  }
  if (session_.control().posts(name_) <= sent_)
    return false;
  if (cudaError_t packed = cudaEventQuery(message.packed); packed != cudaErrorNotReady)
    LF_CUDA(packed);
  else
    return false;
  session_.control().post(peer_, name_);
  LF_NCCL(session_, ncclSend(message.data, static_cast<size_t>(message.bytes), ncclInt8, 1, comm_, stream_));
  LF_CUDA(cudaEventRecord(message.sent, stream_));
  ++sent_;
  std::lock_guard<std::mutex> lock(mutex_);
  queued_.pop_front();
  issued_.push_back(message);
  return true;
}

bool Channel::advance_receive() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Posted &post : posted_) {
    if (post.issued)
      continue;
    if (!post.offered) {
      if (cudaError_t unused = cudaEventQuery(post.unused); unused != cudaErrorNotReady)
        LF_CUDA(unused);
      else
        return false;
      session_.control().post(peer_, name_);
      post.offered = true;
      return true;
    }
    if (session_.control().posts(name_) <= received_)
      return false;
    LF_NCCL(session_, ncclRecv(post.data, static_cast<size_t>(post.bytes), ncclInt8, 0, comm_, stream_));
    LF_CUDA(cudaEventRecord(post.arrived, stream_));
    ++received_;
    post.issued = true;
    return true;
  }
  return false;
}

void Channel::receive(void *y, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  session_.control().post(peer_, name_);
  LF_NCCL(session_, ncclRecv(y, static_cast<size_t>(bytes), ncclInt8, 0, comm_, device_.compute()));
  ++received_;
}

void Channel::post(void *y, int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) // more are posted than ever before
    free_.push_back(make_post());
  Posted post = free_.back();
  free_.pop_back();
  post.data = y;
  post.bytes = bytes;
  post.offered = post.issued = false;
  LF_CUDA(cudaEventRecord(post.unused, device_.compute()));
  posted_.push_back(post);
}

void Channel::wait() {
  std::lock_guard<std::mutex> lock(mutex_);
  Posted post = posted_.front();
  posted_.pop_front();
  if (post.issued) {
    LF_CUDA(cudaStreamWaitEvent(device_.compute(), post.arrived, 0));
  } else { // nothing is left to compute meanwhile: wait on the compute stream itself
    if (!post.offered)
      session_.control().post(peer_, name_);
    LF_NCCL(session_, ncclRecv(post.data, static_cast<size_t>(post.bytes), ncclInt8, 0, comm_, device_.compute()));
    ++received_;
  }
  free_.push_back(post);
}

bool Channel::idle() {
  std::lock_guard<std::mutex> lock(mutex_);
  return queued_.empty() && posted_.empty() && cudaStreamQuery(stream_) == cudaSuccess;
}

} // namespace lf::rt::nccl
