//===- checkpoint_fit.h - Whether a checkpoint fits a program -------------===//
//
// A checkpoint's bytes are the arenas of its ranks, and its counters count samples of a length. So it fits a program
// that has the same parameters at the same places, and trains on the same samples: not only the one that wrote it, and
// however its plan is spelled or scheduled. Where it does not fit, the first decision of a user that differs is named.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <nlohmann/json.hpp>

namespace lf::rt {

/// plan.json of a program, or null where it is none.
nlohmann::json plan_of(const lf_program &);

/// What a rank's bytes mean: mesh, type, samples, and each tensor's offset and part.
nlohmann::json places_of(const lf_program &, int32_t rank);

/// Empty when what a file's header says ("places", "plan") fits this rank of the program, else what differs: a member
/// of plan.json or a flag, here and there.
std::string misfit(const nlohmann::json &header, const lf_program &, int32_t rank);

} // namespace lf::rt
