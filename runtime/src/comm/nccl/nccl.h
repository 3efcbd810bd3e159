// nccl.h - ranks that are processes with a GPU each, or with a share of one.
//
// Idea: one world communicator, of which every group is a split; pairs of pipeline ranks have channels of their own.
// Invariant: collectives on device arrays are issued and not waited for; those on host arrays return when done.
#pragma once

#include "comm/comm.h"

#include <cstdint>
#include <memory>

namespace lf::rt {

/// Makes this process rank `rank` of a job of `world`: meets rank 0 at MASTER_ADDR:MASTER_PORT. Once in a process.
/// Throws Failure 2 or 5.
void join_nccl(int32_t rank, int32_t world, double timeout);

/// The transport of the rank; it outlives the transport.
std::shared_ptr<Transport> make_nccl_transport(lf_rank &);

/// Ends the process with a code after a failure, when all others have heard of it or `grace` seconds have passed.
[[noreturn]] void end_nccl_job(int code, double grace);

} // namespace lf::rt
