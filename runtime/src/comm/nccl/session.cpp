// session.cpp - joining, aborting and leaving an nccl job.
#include "comm/nccl/session.h"

#include "lf/driver_memory.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace lf::rt::nccl {

Session::Session(int32_t rank, int32_t world, const Address &address, double timeout, bool owns_process)
    : rank_(rank), world_(world), control_(std::make_unique<Control>(rank, world, address, timeout)) {
  control_->on_failure([this, owns_process] {
    if (owns_process)
      end_soon(10.0);
    abort_all();
  });
}

Session::~Session() {
  ending();
  control_.reset();
  if (world_comm_)
    remove(std::exchange(world_comm_, nullptr));
}

void Session::check(ncclResult_t result, const char *call, const char *file, int line) const {
  if (result == ncclSuccess || result == ncclInProgress)
    return;
  // A rank that ends breaks its connections, which others can see before they hear that it has ended.
  const bool other = result == ncclRemoteError || result == ncclSystemError;
  if (control_->wait_for_failure(other ? 3.0 : 0.0))
    throw stopped("NCCL, whose connections or communicators ended");
  const char *slash = std::strrchr(file, '/');
  throw Failure{5, "expected success of " + std::string(call) + " at " + (slash ? slash + 1 : file) + ":" +
                       std::to_string(line) + " on rank " + std::to_string(rank_) + ", got \"" +
                       ncclGetErrorString(result) + "\" (" + ncclGetLastError(nullptr) +
                       "); NCCL_DEBUG=INFO tells more"};
}

Stopped Session::stopped(const std::string &waits) const {
  return Stopped({control_->failure().code,
                  "rank " + std::to_string(control_->culprit()) + " failed: " + control_->failure().message},
                 waits);
}

ncclComm_t Session::add(ncclComm_t comm) {
  std::lock_guard<std::mutex> lock(mutex_);
  comms_.insert(comm);
  return comm;
}

void Session::remove(ncclComm_t comm) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!comms_.erase(comm))
      return; // aborted
  }
  ncclCommDestroy(comm);
}

void Session::check_all() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (ncclComm_t comm : comms_) {
    ncclResult_t state = ncclSuccess;
    LF_NCCL(*this, ncclCommGetAsyncError(comm, &state));
    check(state, "communication", __FILE__, __LINE__);
  }
}

void Session::abort_all() {
  std::set<ncclComm_t> comms;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    comms.swap(comms_);
  }
  for (ncclComm_t comm : comms)
    ncclCommAbort(comm);
}

void Session::end_soon(double seconds) {
  const Failure &failure = control_->failure();
  std::string message = "lf: rank " + std::to_string(rank_) + " did not stop; rank " +
                        std::to_string(control_->culprit()) + " failed: " + failure.message + "\n";
  std::thread([ending = ending_, code = failure.code, message, seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    if (ending->load())
      return;
    std::fputs(message.c_str(), stderr);
    std::fflush(nullptr);
    std::_Exit(code);
  }).detach();
}

ncclComm_t Session::world_comm(double timeout) {
  if (world_comm_)
    return world_comm_;
  ncclUniqueId id{};
  if (rank_ == 0) {
    LF_NCCL(*this, ncclGetUniqueId(&id));
    put_id("world", id);
  } else {
    id = get_id("world", timeout, "rank 0");
  }
  // Joining waits for every rank, without a limit of its own: the ranks meet at the store first.
  put_id("here/" + std::to_string(rank_), id);
  for (int32_t other = 0; other < world_; ++other)
    get_id("here/" + std::to_string(other), timeout, "rank " + std::to_string(other));
  ncclComm_t comm = nullptr;
  ncclConfig_t config = few_blocks(sums_blocks); // groups are split from it, it carries nothing
  LF_NCCL(*this, ncclCommInitRankConfig(&comm, world_, id, rank_, &config));
  return world_comm_ = add(comm);
}

ncclConfig_t few_blocks(int32_t blocks) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = 1;
  config.maxCTAs = blocks;
  return config;
}

ncclUniqueId Session::get_id(const std::string &key, double timeout, const std::string &waits) {
  std::string value = control_->get(key, timeout, waits);
  if (control_->failed())
    throw stopped(waits);
  ncclUniqueId id{};
  std::memcpy(&id, value.data(), std::min(value.size(), sizeof id));
  return id;
}

void Session::put_id(const std::string &key, const ncclUniqueId &id) {
  control_->put(key, std::string(reinterpret_cast<const char *>(&id), sizeof id));
}

} // namespace lf::rt::nccl
