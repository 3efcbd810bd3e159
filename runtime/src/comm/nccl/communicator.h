// communicator.h - one group of ranks over NCCL.
#pragma once

#include "comm/nccl/session.h"

#include <functional>

namespace lf::rt::nccl {

/// Collectives of the members, in this order. `join` makes the communicator of a group of more than one; it is called
/// when the group's memory is there, since memory is not to be pinned while another rank may run a kernel that waits
/// for this one. The rank outlives the result.
std::unique_ptr<Communicator> make_communicator(std::shared_ptr<Session>, lf_rank &, std::string name,
                                                std::vector<int32_t> members, int32_t index,
                                                const std::function<ncclComm_t()> &join);

} // namespace lf::rt::nccl
