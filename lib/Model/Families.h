//===- Families.h - From a file's fields to a ModelConfig ------------------===//
//
// One function a family group; each reads every field that its files may hold.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Fields.h"
#include "lf/Model/ModelConfig.h"

namespace lf {

/// Bounds that keep every later product within 64 bits.
constexpr int64_t maxLayers = 65536, maxHeads = 65536, maxHeadDim = 65536, maxWidth = (int64_t{1} << 31) - 1;

/// "gpt2": learned positions, layer norms, biases everywhere, one fused projection.
void readGpt2(Fields &, ModelConfig &);

/// "llama", "qwen2", "qwen3", "mistral": rotary positions, RMS norms, gated MLP, grouped-query attention.
void readLlama(Fields &, ModelConfig &);

/// The "rope_theta", "rope_scaling" and "rope_parameters" fields: fills invFreq and ropeScale from headDim.
void readRope(Fields &, ModelConfig &);

/// The value of an activation field; throws for one that is not implemented.
Activation readActivation(Fields &, const std::string &key, const std::string &absent);

/// Gives layer i the kind "decoder", or "decoder_sliding" where windowOf(i) is not 0.
void setKinds(ModelConfig &, const std::vector<int64_t> &windowOfLayer);

} // namespace lf
