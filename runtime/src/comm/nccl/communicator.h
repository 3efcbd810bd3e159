// communicator.h - one group of ranks over NCCL.
#pragma once

#include "comm/nccl/session.h"

namespace lf::rt::nccl {

/// Collectives of the members, in this order; `comm` is theirs (null for a group of one). The rank outlives it.
std::unique_ptr<Communicator> make_communicator(std::shared_ptr<Session>, lf_rank &, std::string name, std::vector<int32_t> members,
                                                int32_t index, ncclComm_t comm);

} // namespace lf::rt::nccl
