// local.h - ranks that are threads of one process.
//
// Idea: a member publishes pointers in its slot of the group, all meet, everybody reads what it needs from the others.
// Invariant: the job outlives its transports, a transport its communicators.
#pragma once

#include "comm/comm.h"

#include <atomic>
#include <memory>

namespace lf::rt {

/// What the threads share.
class LocalJob {
public:
  explicit LocalJob(int32_t world);
  ~LocalJob();

  int32_t world() const { return world_; }
  /// The first failure wins; returns whether this was it.
  bool fail(int32_t rank, const Failure &);
  const std::atomic<bool> &failed() const { return failed_; }
  /// Only once failed() is true.
  int32_t culprit() const { return culprit_; }
  const Failure &failure() const { return failure_; }

  struct State; ///< groups and mailboxes
  State &state() { return *state_; }

private:
  int32_t world_;
  std::atomic<bool> failed_{false}, taken_{false};
  int32_t culprit_ = -1;
  Failure failure_{0, ""};
  std::unique_ptr<State> state_;
};

/// The door of one rank of the job.
std::shared_ptr<Transport> make_local_transport(std::shared_ptr<LocalJob>, int32_t rank, const Attached &);

} // namespace lf::rt
