//===- ModelFlags.cpp - Megatron's model flags against the model file -------===//
//
// See ModelFlags.h. Switches that are absent are not compared: the file alone decides then.
//
//===----------------------------------------------------------------------===//
#include "ModelFlags.h"

#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <cstdlib>

namespace lf {

static bool scaled(const ModelConfig &m) {
  // Frequencies fall by one factor from each to the next unless they were scaled.
  for (size_t i = 2; i < m.invFreq.size(); ++i)
    if (std::abs(m.invFreq[i] * m.invFreq[0] / (m.invFreq[i - 1] * m.invFreq[1]) - 1) > 1e-9)
      return true;
  return false;
}

void checkModelFlags(const GivenFlags &given, const ModelConfig &m) {
  std::vector<std::string> wrong;
  auto refuse = [&](const Given &g, const std::string &file) {
    wrong.push_back(g.origin + ": expected " + file + " as the model file says, got " + quote(g.value()) +
                    "; remove the flag or change the model file");
  };
  auto integer = [&](const char *name, int64_t file) {
    if (auto it = given.find(name); it != given.end() && it->second.value() != std::to_string(file))
      refuse(it->second, std::to_string(file));
  };
  auto real = [&](const char *name, double file) {
    auto it = given.find(name);
    if (it == given.end())
      return;
    char *end = nullptr;
    const std::string &text = it->second.value();
    double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !(value == file))
      refuse(it->second, number(file));
  };
  auto word = [&](const char *name, const std::string &file) {
    if (auto it = given.find(name); it != given.end() && it->second.value() != file)
      refuse(it->second, quote(file));
  };
  auto toggle = [&](const char *name, bool file) {
    if (auto it = given.find(name); it != given.end() && (it->second.value() == "true") != file)
      refuse(it->second, file ? "\"true\"" : "\"false\"");
  };
  integer("num-layers", m.layers);
  integer("hidden-size", m.hidden);
  integer("ffn-hidden-size", m.ffn);
  integer("num-attention-heads", m.heads);
  integer("num-query-groups", m.kvHeads);
  integer("kv-channels", m.headDim);
  integer("max-position-embeddings", m.maxPositions);
  integer("vocab-size", m.vocab);
  real("norm-epsilon", m.normEps);
  real("init-method-std", m.initStd);
  if (!m.learnedPositions)
    real("rotary-base", m.ropeTheta);
  else if (auto it = given.find("rotary-base"); it != given.end())
    refuse(it->second, "no rotary embedding");
  real("rotary-percent", 1.0);
  word("normalization", m.norm == Norm::rms ? "RMSNorm" : "LayerNorm");
  word("position-embedding-type", m.learnedPositions ? "learned_absolute" : "rope");
  // Stating as many groups as heads is no contradiction.
  toggle("group-query-attention", m.kvHeads != m.heads || given.contains("num-query-groups"));
  toggle("swiglu", m.gated && m.activation == Activation::silu);
  toggle("untie-embeddings-and-output-weights", !m.tied);
  toggle("add-qkv-bias", m.qkvBias);
  toggle("disable-bias-linear", !m.outBias && !m.mlpBias);
  toggle("qk-layernorm", m.qkNorm);
  toggle("use-rope-scaling", scaled(m));
  refuseAll(wrong);
}

} // namespace lf
