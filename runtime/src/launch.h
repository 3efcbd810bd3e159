// launch.h - starts the ranks of a program: threads of this process, or this process as one rank of a launcher's job.
//
// Idea: the body is the same function on every rank; whoever started the process decides where ranks live. Invariant:
// run_ranks returns only when no rank runs any more; when one cannot be stopped, it ends the process with the same
// code.
#pragma once

#include "rank.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lf::rt {

/// What starting ranks needs to know of the command line.
struct LaunchOptions {
  const Options *options = nullptr; ///< handed on as lf_rank::options
  double timeout_seconds = 0.0;     ///< of one wait; 0: $LF_TIMEOUT_SECONDS, else 600
  double grace_seconds = 5.0;       ///< how long other ranks may take to stop after one failed
  int32_t cpu_threads = 0;          ///< of one rank; 0: one. Ranks that are threads always have one
  uint64_t seed = 0;
};

/// A process started by torchrun, srun or mpirun, by their environment.
struct Launcher {
  std::string variable; ///< where the world was read: "WORLD_SIZE"
  int32_t rank = 0, world = 1;
};
/// Reads RANK and WORLD_SIZE; SLURM_PROCID and SLURM_NTASKS; OMPI_COMM_WORLD_RANK and _SIZE; PMI_RANK and PMI_SIZE; the
/// first pair that is set. Throws Failure (2) when a value is no number, or when half of the first or third pair is set and no
/// other pair says the same.
std::optional<Launcher> find_launcher();

/// Runs `body` on every rank of the program that lives in this process, with everything in lf_rank set up but `tokens`.
/// Returns 0, or the code of the first rank that failed after its message, and what every other rank waited for, are on
/// stderr. 2: the mesh or the launcher's world contradicts the program. Exceptions other than Failure count as code 5
/// (std::bad_alloc: 3). The ranks of a program that was started alone are threads of this process; with at least a GPU for each
/// rank they use NCCL (unless LF_LOCAL=1).
int run_ranks(const lf_program *program, const LaunchOptions &options, const std::function<void(lf_rank &)> &body);

/// Tells the other ranks of a launcher's job, if this process is one of its ranks, that it cannot take part, and why,
/// for one that has not joined yet. The failure has been printed. With nccl it takes up to half a minute where rank 0
/// does not answer; on rank 0, some seconds where others do not come. With mpi it ends the job, and does not return.
void tell_others(const Failure &failure);

} // namespace lf::rt
