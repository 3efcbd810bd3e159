//===- Rope.cpp - Rotary frequencies ----------------------------------------===//
//
// Channel pair i turns by position * theta^(-2 i / headDim). "llama3" divides the frequencies of long waves by a
// factor, leaves those of short waves, and blends in between.
//
//===----------------------------------------------------------------------===//
#include "Families.h"
#include "lf/Support/Text.h"

#include <cmath>
#include <numbers>

namespace lf {

static void scaleLlama3(Fields &rope, std::vector<double> &frequencies) {
  for (const char *key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"})
    if (!rope.has(key))
      throw rope.error(key, "a number (required by \"llama3\")");
  double factor = rope.real("factor", 0, 1, 1e6);
  double low = rope.real("low_freq_factor", 0, 1e-6, 1e6), high = rope.real("high_freq_factor", 0, 1e-6, 1e6);
  auto length = static_cast<double>(rope.size("original_max_position_embeddings", maxWidth));
  if (!(low < high))
    throw rope.error("high_freq_factor", "more than \"/low_freq_factor\" " + number(low));
  for (double &f : frequencies) {
    double wave = 2 * std::numbers::pi / f;
    if (wave > length / low)
      f /= factor;
    else if (wave >= length / high) {
      double blend = (length / wave - low) / (high - low);
      f = (1 - blend) * f / factor + blend * f;
    }
  }
}

void readRope(Fields &file, ModelConfig &model) {
  auto isTheta = [](const Fields &f) { return f.has("rope_theta"); };
  auto scaling = file.objectIf("rope_scaling"), parameters = file.objectIf("rope_parameters");
  if (scaling && parameters)
    throw file.refuse("rope_parameters", "expected one of \"/rope_scaling\" and \"/rope_parameters\", got both");
  auto &rope = parameters ? parameters : scaling;

  model.ropeTheta = file.real("rope_theta", 10000.0, 1.0, 1e15);
  if (rope && isTheta(*rope)) {
    double inner = rope->real("rope_theta", 0, 1.0, 1e15);
    if (isTheta(file) && inner != model.ropeTheta)
      throw rope->error("rope_theta", number(model.ropeTheta) + " as \"/rope_theta\" says");
    model.ropeTheta = inner;
  }
  for (int64_t i = 0; i < model.headDim / 2; ++i)
    model.invFreq.push_back(
        std::pow(model.ropeTheta, -2.0 * static_cast<double>(i) / static_cast<double>(model.headDim)));
  model.ropeScale = 1.0;
  if (!rope)
    return;

  // "type" is the older spelling of "rope_type".
  std::string key = rope->has("rope_type") || !rope->has("type") ? "rope_type" : "type";
  std::string type = rope->text(key, parameters ? "default" : "");
  if (rope->has("rope_type"))
    rope->only("type", type, "the same as \"/rope_type\"");
  if (type == "llama3")
    scaleLlama3(*rope, model.invFreq);
  else if (type != "default")
    throw rope->error(key, "\"default\" or \"llama3\"");
  rope->only("partial_rotary_factor", 1.0, "a partial rotary embedding is not implemented");
  rope->finish();
}

} // namespace lf
