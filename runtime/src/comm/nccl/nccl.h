// nccl.h - ranks with a GPU each: threads of this process, or processes of a launcher, which may share GPUs too.
//
// Idea: one world communicator, of which every group is a split; pairs of pipeline ranks have channels of their own.
// Invariant: collectives on device arrays are issued and not waited for; those on host arrays return when done.
#pragma once

#include "comm/comm.h"
#include "comm/nccl/control.h"

#include <cstdint>
#include <memory>

namespace lf::rt {

/// What CUDA has to find in the environment; before its first call of the process.
void set_nccl_environment();

/// Joins the job as rank c.rank of c.world, which meet at the address. The rank outlives the transport. `owns_process`:
/// see comm/nccl/session.h. Throws Failure 2 or 5.
std::shared_ptr<Transport> make_nccl_transport(lf_rank &, const nccl::Address &, double timeout, bool owns_process);

/// Tells the others, who would wait for it, why this rank cannot start: joins the job for that alone. Rank 0 stays up
/// to `grace` seconds, any other waits half a minute for rank 0; throws Failure when nobody can be told.
void tell_nccl_job(int32_t rank, int32_t world, const Failure &, double grace);

/// Ends the process with a code after a failure, when all others have heard of it or `grace` seconds have passed. The
/// transport is null when the job was not joined.
[[noreturn]] void end_nccl_job(Transport *, int code, double grace);

} // namespace lf::rt
