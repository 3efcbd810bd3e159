// comm.h - how ranks reach one another: one Transport per rank, and one Communicator for each group that it is in.
//
// Idea: a back end (local, mpi, nccl) writes four functions; tracing, checking and naming are done here, once, for all.
// Invariant: reductions add in the order of group ranks, so that every member gets the same bits, whatever the timing.
#pragma once

#include "comm/device_memory.h"
#include "lf/runtime.h"
#include "rank.h"
#include "trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lf::rt {

/// Bytes of one element of a dtype.
int64_t dtype_size(lf_dtype);

/// One communication as a back end sees it. `count` is elements of the smaller side, `size` bytes of one element.
struct Call {
  OpKind kind = OpKind::Barrier;
  const char *what = "";
  const void *x = nullptr;
  void *y = nullptr;
  int64_t count = 0, size = 1;
  lf_dtype dtype = LF_F32;         ///< read by reductions only
  lf_reduction reduction = LF_SUM; ///< read by reductions only
  int32_t root = 0;                ///< broadcast, gather
  int32_t stream = 0;              ///< of a device that has streams; the cpu ignores it
  int32_t peer = -1, tag = 0;      ///< send, recv: peer is a world rank
};

/// What members of one group must agree on for one collective; also carries names for the message when they do not.
struct Header {
  int64_t count = 0, size = 0;
  uint64_t sequence = 0; ///< number of the collective in its group
  OpKind kind = OpKind::Barrier;
  int32_t dtype = 0, reduction = 0, root = 0, layer = -1, micro_batch = -1;
  char what[40] = {};
  char function[32] = {};
};
Header make_header(const Call &, uint64_t sequence, const Where &);
/// True when both may be parts of one collective.
bool agree(const Header &, const Header &);
/// `expected rank 1 to issue all_gather "x" ..., as rank 0 did, got ...`
std::string disagreement(const std::string &comm, int32_t rank_a, const Header &a, int32_t rank_b, const Header &b);

/// Thrown on the ranks that stop because another one failed. `code` is the culprit's; `waits` what this rank waited
/// for.
struct Stopped : Failure {
  Stopped(Failure f, std::string waits) : Failure(std::move(f)), waits(std::move(waits)) {}
  std::string waits;
};

/// What a rank's handle is attached to; both outlive it.
struct Attached {
  Trace *trace = nullptr;
  const Where *at = nullptr;
};

/// One group of ranks, as one of its members sees it. All members issue the same collectives in the same order; the
/// calls return when y is complete and x may be reused. `count` is elements of the smaller side. x and y do not overlap
/// unless said otherwise. Throws Failure (5) on timeout, on a member that issues something else; Stopped when another
/// rank failed.
class Communicator {
public:
  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  const std::string &name() const { return name_; }
  int32_t rank() const { return rank_; } ///< of this member in the group
  int32_t size() const { return static_cast<int32_t>(members_.size()); }
  const std::vector<int32_t> &members() const { return members_; } ///< world ranks, in group order

  /// x [count] -> y [size, count]. ncclAllGather, MPI_Iallgather
  void all_gather(const char *what, const void *x, void *y, int64_t count, lf_dtype, int32_t stream = 0);
  /// x [size, count] -> y [count]. ncclReduceScatter, MPI_Ireduce_scatter_block
  void reduce_scatter(const char *what, const void *x, void *y, int64_t count, lf_dtype, lf_reduction,
                      int32_t stream = 0);
  /// x [count] -> y [count]; y may be x. ncclAllReduce, MPI_Iallreduce
  void all_reduce(const char *what, const void *x, void *y, int64_t count, lf_dtype, lf_reduction, int32_t stream = 0);
  /// x [size, count] -> y [size, count]: block i goes to member i. MPI_Ialltoall, ncclSend and ncclRecv in a group
  void all_to_all(const char *what, const void *x, void *y, int64_t count, lf_dtype, int32_t stream = 0);
  /// `bytes` of data of member root to all. ncclBroadcast, MPI_Ibcast
  void broadcast(const char *what, void *data, int64_t bytes, int32_t root = 0);
  /// x [bytes] of each -> y [size, bytes] on root; y is not touched elsewhere. MPI_Igather
  void gather(const char *what, const void *x, void *y, int64_t bytes, int32_t root = 0);
  /// MPI_Ibarrier
  void barrier(const char *what);

protected:
  Communicator(std::string name, std::vector<int32_t> members, int32_t rank, const Attached &attached)
      : name_(std::move(name)), members_(std::move(members)), rank_(rank), attached_(attached) {}
  /// Carries a collective out; never called for groups of one.
  virtual void run(const Call &) = 0;
  /// Copies x to y in a group of one; the two differ and are not empty.
  virtual void run_alone(const Call &);
  const Where &at() const { return *attached_.at; }

private:
  void issue(const Call &);

  std::string name_;
  std::vector<int32_t> members_;
  int32_t rank_;
  Attached attached_;
};

/// One rank's door to all others. Errors as Communicator's.
class Transport {
public:
  virtual ~Transport() = default;
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;

  int32_t rank() const { return rank_; } ///< world rank
  int32_t world() const { return world_; }
  virtual const char *name() const = 0; ///< "local", "mpi"
  double timeout_seconds = 600.0;       ///< of one wait, in a collective or a receive
  DeviceMemory *memory = nullptr;       ///< the rank's, set before its first group is made; null: the host's alone

  /// Makes the group of `members` (world ranks in group order; this rank is one of them). Every rank of the world makes
  /// as many groups in the same order, each its own. Not after the first step.
  virtual std::unique_ptr<Communicator> make_group(const std::string &name, std::vector<int32_t> members) = 0;

  /// Buffered: returns when x may be reused, also when nobody receives yet. ncclSend, MPI_Isend
  void send(const char *what, const void *x, int64_t count, lf_dtype, int32_t peer, int32_t tag);
  /// Messages of one pair and tag arrive in order; a message of another size is a Failure (5). ncclRecv, MPI_Irecv
  void recv(const char *what, void *y, int64_t count, lf_dtype, int32_t peer, int32_t tag);
  /// A receive in two parts: after post_recv, y belongs to the transport until wait_recv of the same arguments returns.
  /// Of one pair and tag: waits in the order of posts, no recv between. Failure (5) otherwise. MPI_Irecv, MPI_Wait
  void post_recv(const char *what, void *y, int64_t count, lf_dtype, int32_t peer, int32_t tag);
  void wait_recv(const char *what, void *y, int64_t count, lf_dtype, int32_t peer, int32_t tag);
  /// Throws Failure (5) when a posted receive has not been waited for.
  void check_no_posts() const;
  /// Connects this rank to `peer` for messages with `tag`, which this rank sends or receives. Before the first step, after
  /// the groups; all ranks call it in one order of messages, so that it may wait for the peer.
  /// `bytes`: of the largest message.
  virtual void open_channel(int32_t peer, int32_t tag, bool sends, int64_t bytes) = 0;
  /// Called once, when all groups and channels are made. Until then nccl's waits for a process that has not come end at a
  /// signal to stop, by Failure 75; afterwards the step sees it.
  virtual void started() {}
  /// Takes memory of the rank's device by itself (lf_memory::driver).
  virtual bool takes_device_memory() const { return false; }
  /// Between computations: lets messages move on, and throws Stopped when another rank failed. Cheap.
  virtual void poll() = 0;
  /// Called once, when this rank's body is over: returns when all ranks have called it, however long that takes, or
  /// throws Stopped when one fails until then. MPI_Ibarrier
  virtual void leave() = 0;
  /// Says that this rank cannot go on: every other rank's present or next wait throws Stopped, which names this rank
  /// and carries this failure. The first one of the job wins. MPI_Abort, ncclCommAbort
  virtual void abort(const Failure &) = 0;

protected:
  Transport(int32_t rank, int32_t world, const Attached &attached) : attached_(attached), rank_(rank), world_(world) {}
  virtual void run_send(const Call &) = 0;
  virtual void run_recv(const Call &) = 0;
  /// Never waits.
  virtual void run_post(const Call &) = 0;
  /// Of the oldest post of the call's pair and tag.
  virtual void run_wait(const Call &) = 0;

  Attached attached_;

private:
  uint64_t issue(const Call &);

  int32_t rank_, world_;
  std::vector<Call> posts_; ///< not yet waited for, oldest first
};

/// "0 2 5": ranks in a message.
std::string join(const std::vector<int32_t> &);

} // namespace lf::rt
