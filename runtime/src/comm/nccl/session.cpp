// session.cpp - joining, aborting and leaving an nccl job.
#include "comm/nccl/session.h"

#include "comm/nccl/nccl.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lf::rt::nccl {

void check_nccl(ncclResult_t result, const char *call, const char *file, int line) {
  if (result == ncclSuccess || result == ncclInProgress)
    return;
  if (session().control && session().control->failed())
    throw stopped("NCCL, whose communicators were aborted");
  const char *slash = std::strrchr(file, '/');
  throw Failure{5, "expected success of " + std::string(call) + " at " + (slash ? slash + 1 : file) + ":" +
                       std::to_string(line) + " on rank " + std::to_string(session().rank) + ", got \"" +
                       ncclGetErrorString(result) + "\" (" + ncclGetLastError(nullptr) +
                       "); NCCL_DEBUG=INFO tells more"};
}

Session &session() {
  static Session *only = new Session; // threads of NCCL may outlive main
  return *only;
}

Stopped stopped(const std::string &waits) {
  Control &control = *session().control;
  return Stopped(
      {control.failure().code, "rank " + std::to_string(control.culprit()) + " failed: " + control.failure().message},
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
    LF_NCCL(ncclCommGetAsyncError(comm, &state));
    check_nccl(state, "communication", __FILE__, __LINE__);
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

void Session::end_soon(int code, const std::string &message, double seconds) {
  std::thread([this, code, message, seconds] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    if (ended.load())
      return;
    std::fprintf(stderr, "lf: rank %d did not stop; %s\n", rank, message.c_str());
    std::fflush(nullptr);
    std::_Exit(code);
  }).detach();
}

ncclComm_t Session::world_comm(double timeout) {
  if (world_comm_)
    return world_comm_;
  ncclUniqueId id{};
  if (rank == 0) {
    LF_NCCL(ncclGetUniqueId(&id));
    put_id("world", id);
  } else {
    id = get_id("world", timeout, "rank 0");
  }
  // Joining waits for every rank, without a limit of its own: the ranks meet at the store first.
  put_id("here/" + std::to_string(rank), id);
  for (int32_t other = 0; other < world; ++other)
    get_id("here/" + std::to_string(other), timeout, "rank " + std::to_string(other));
  ncclComm_t comm = nullptr;
  LF_NCCL(ncclCommInitRank(&comm, world, id, rank));
  return world_comm_ = add(comm);
}

ncclUniqueId get_id(const std::string &key, double timeout, const std::string &waits) {
  std::string value = session().control->get(key, timeout, waits);
  if (session().control->failed())
    throw stopped(waits);
  ncclUniqueId id{};
  std::memcpy(&id, value.data(), std::min(value.size(), sizeof id));
  return id;
}

void put_id(const std::string &key, const ncclUniqueId &id) {
  session().control->put(key, std::string(reinterpret_cast<const char *>(&id), sizeof id));
}

} // namespace lf::rt::nccl

namespace lf::rt {

void join_nccl(int32_t rank, int32_t world, double timeout) {
  // A kernel that is loaded when first used waits for the device, and so for a message that may need that kernel.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // Streams that share a queue of the device wait for one another; 8 queues are few for a group and a channel each.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  nccl::Session &s = nccl::session();
  s.rank = rank;
  s.world = world;
  s.control = std::make_unique<nccl::Control>(rank, world, nccl::find_address(), timeout);
  s.control->on_failure = [&s] {
    const nccl::Control &control = *s.control;
    s.end_soon(control.failure().code,
               "rank " + std::to_string(control.culprit()) + " failed: " + control.failure().message, 10.0);
    s.abort_all();
  };
}

void end_nccl_job(int code, double grace) {
  nccl::Session &s = nccl::session();
  s.ended = true;
  std::fflush(nullptr);
  // Rank 0 carries the news: it goes last.
  s.control->wait_for_others(grace);
  std::_Exit(code);
}

} // namespace lf::rt
