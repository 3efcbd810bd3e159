//===- initial_weights.h - The same start under every plan ----------------===//
//
// An initial value is a function of (seed, name of the file tensor, element in the whole unpadded tensor), never of the
// rank or the plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "shard.h"

#include <cstdint>

namespace lf::rt {

/// A standard normal number: Box-Muller on two counter-based uniforms. `key` comes from weights_key.
double normal(uint64_t key, uint64_t element);
uint64_t weights_key(uint64_t seed, const std::string &hf_name);

/// Fills the parameter arena's shard of a piece as lf_param::init says; padding becomes zero.
void initialise(lf_rank &, const Piece &);

} // namespace lf::rt
