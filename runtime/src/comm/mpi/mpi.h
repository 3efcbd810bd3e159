// mpi.h - ranks that are processes started by mpirun, mpiexec or srun.
//
// Idea: all data moves by MPI_Isend and MPI_Irecv between pairs, waited for in our own loop, which yields some hundred
// times and then sleeps 20 us: MPI's blocking calls are up to 400 times slower when ranks outnumber cores. Invariant:
// all MPI calls are made by the thread that called join_mpi.
#pragma once

#include "comm/comm.h"

#include <memory>
#include <string>

namespace lf::rt {

/// Initialises MPI (once in a process; finalized at exit) and returns the rank. MPI_Init_thread. Throws Failure (2)
/// when MPI's world is not `world`, which the launcher stated in `variable`.
int32_t join_mpi(int32_t world, const std::string &variable);
/// The door of this process. After join_mpi; the ranks make their transports in step (MPI_Comm_dup).
std::shared_ptr<Transport> make_mpi_transport(const Attached &);
/// Tells all other ranks that this one cannot go on. After join_mpi.
void tell_mpi_job(const Failure &);
/// Ends the job, on every rank, with `code`: after all ranks have reported, or after `grace_seconds`. MPI_Abort
[[noreturn]] void end_mpi_job(int code, double grace_seconds);

} // namespace lf::rt
