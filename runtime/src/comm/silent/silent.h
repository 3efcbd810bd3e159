// silent.h - a transport that carries nothing.
//
// Idea: a rank whose step is only rehearsed has its groups and messages, with all that is checked of them, and no other
// rank takes part. Invariant: nothing that was to be received is written.
#pragma once

#include "comm/comm.h"

#include <memory>

namespace lf::rt {

/// The transport of rank `rank` of `world`; collectives and messages return at once.
std::shared_ptr<Transport> make_silent_transport(int32_t rank, int32_t world, const Attached &);

} // namespace lf::rt
