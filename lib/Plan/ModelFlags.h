//===- ModelFlags.h - Megatron's model flags against the model file ---------===//
//
// A pasted launch script states the model a second time. What it says must be what the file says.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Arguments.h"
#include "lf/Model/ModelConfig.h"

namespace lf {

/// Throws lf::Error (exit 2) with both values for the first flag of Stand::model that differs from the model.
void checkModelFlags(const GivenFlags &, const ModelConfig &);

} // namespace lf
