// session.h - one rank's part of an nccl job: its control connection and all of its communicators.
//
// Idea: whoever hears of a failure aborts every communicator, which makes stuck kernels and calls return. Invariant: a
// communicator is registered from its making to its end.
#pragma once

#include "comm/comm.h"
#include "comm/nccl/control.h"

#include <nccl.h>

#include <memory>
#include <mutex>
#include <set>

namespace lf::rt::nccl {

class Session {
public:
  /// Meets rank 0 at the address. `owns_process`: when another rank fails, this process ends by itself within seconds,
  /// with that rank's code, however stuck it is; ranks that are threads leave that to their launcher. Throws Failure 2
  /// or 5.
  Session(int32_t rank, int32_t world, const Address &, double timeout, bool owns_process);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  int32_t rank() const { return rank_; }
  Control &control() { return *control_; }
  /// What a rank throws when another one has failed.
  Stopped stopped(const std::string &waits) const;
  /// Throws Failure (5) with NCCL's own words unless `result` is ncclSuccess; Stopped when another rank failed.
  void check(ncclResult_t result, const char *call, const char *file, int line) const;

  ncclComm_t add(ncclComm_t); ///< registers it
  void remove(ncclComm_t);    ///< and ends it, in peace
  /// Throws Failure 5 when NCCL reports an error of any communicator.
  void check_all();
  /// Ends them all, from any thread.
  void abort_all();
  /// The process is reporting its own end.
  void ending() { *ending_ = true; }

  /// The world's communicator, made when first asked for; the device is open.
  ncclComm_t world_comm(double timeout);

  /// Waits on the store for the identity of a communicator; throws Stopped when another rank failed.
  ncclUniqueId get_id(const std::string &key, double timeout, const std::string &waits);
  void put_id(const std::string &key, const ncclUniqueId &);

private:
  void end_soon(double seconds);

  int32_t rank_, world_;
  std::shared_ptr<std::atomic<bool>> ending_ = std::make_shared<std::atomic<bool>>(false);
  std::mutex mutex_;
  std::set<ncclComm_t> comms_;
  ncclComm_t world_comm_ = nullptr;
  std::unique_ptr<Control> control_; ///< its thread calls this session: goes first
};

/// Of a communicator that takes at most so many thread blocks of a device.
ncclConfig_t few_blocks(int32_t blocks);

#define LF_NCCL(session, call) (session).check((call), #call, __FILE__, __LINE__)

} // namespace lf::rt::nccl
