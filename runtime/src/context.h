// context.h - making one rank: its place in the mesh, its groups, its arenas.
//
// Idea: launch.cpp calls this once for each rank, before the body; train/ and tests only read the result. Invariant:
// memory is mapped once, zeroed, and never moves.
#pragma once

#include "comm/comm.h"
#include "comm/mesh.h"
#include "comm/traffic.h"
#include "rank.h"
#include "trace.h"

namespace lf::rt {

/// Sets program, rank, world, coordinates, pp, trace and traffic. The rank is not connected yet.
void place_rank(lf_rank &, const lf_program &, int32_t rank);
/// Sets transport and comms: one Communicator for each entry of program->comms. All ranks call it.
void connect_rank(lf_rank &, std::shared_ptr<Transport>);
/// Maps the arenas by program->memory of the rank's pipeline coordinate (none when memory is NULL): 64-byte aligned,
/// zeroed; `optimizer` is split in two equal moments. Throws Failure (3) when the machine refuses.
void allocate_arenas(lf_rank &);
/// Bytes of all arenas of the rank.
int64_t arena_bytes(const lf_rank &);

} // namespace lf::rt
