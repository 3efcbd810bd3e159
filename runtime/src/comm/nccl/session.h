// session.h - the process's part of an nccl job: its control connection and all of its communicators.
//
// Idea: whoever hears of a failure aborts every communicator, which makes stuck kernels and calls return. Invariant: a
// communicator is registered from its making to its end.
#pragma once

#include "comm/comm.h"
#include "comm/nccl/control.h"

#include <nccl.h>

#include <mutex>
#include <set>

namespace lf::rt::nccl {

/// Throws Failure (5) with NCCL's own words unless `result` is ncclSuccess.
void check_nccl(ncclResult_t result, const char *call, const char *file, int line);
#define LF_NCCL(call) ::lf::rt::nccl::check_nccl((call), #call, __FILE__, __LINE__)

struct Session {
  int32_t rank = 0, world = 1;
  std::unique_ptr<Control> control;

  ncclComm_t add(ncclComm_t); ///< registers it
  void remove(ncclComm_t);    ///< and ends it, in peace
  /// Throws Failure 5 when NCCL reports an error of any communicator.
  void check_all();
  /// Ends them all, from any thread.
  void abort_all();
  /// The end of the process with `code` unless end() comes within `seconds`.
  void end_soon(int code, const std::string &message, double seconds);
  std::atomic<bool> ended{false}; ///< the process is reporting its own end

  /// The world's communicator, made when first asked for; the device is open.
  ncclComm_t world_comm(double timeout);

private:
  std::mutex mutex_;
  std::set<ncclComm_t> comms_;
  ncclComm_t world_comm_ = nullptr;
};

/// One for the life of the process.
Session &session();

/// Waits on the store for the identity of a communicator; throws Stopped when another rank failed.
ncclUniqueId get_id(const std::string &key, double timeout, const std::string &waits);
void put_id(const std::string &key, const ncclUniqueId &);

/// What a rank throws when another one has failed.
Stopped stopped(const std::string &waits);

} // namespace lf::rt::nccl
