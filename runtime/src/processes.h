// processes.h - a process for each rank, started by the program itself.
//
// Idea: what torchrun does on one host, so that a program that is started alone uses a GPU for each rank through NCCL.
// Each process is this program again, with the same arguments and torchrun's environment.
#pragma once

#include <cstdint>

namespace lf::rt {

/// Starts this program `world` times on this host with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and a free MASTER_PORT,
/// hands SIGINT, SIGTERM and SIGUSR1 on to all of them, and waits for their ends. Returns 0 when all returned 0, else the
/// code of the first that did not (128 + n for signal n); those that go on for `grace_seconds` after it are killed.
/// Throws Failure 5 when a process cannot be started.
int run_processes(int32_t world, double grace_seconds);

} // namespace lf::rt
