//===- PipelineSplit.cpp - Layers to stages, as layout strings --------------===//
//
// See PipelineSplit.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PipelineSplit.h"

#include "lf/Schedule/DefaultSplit.h"

#include <algorithm>

namespace lf {

static std::string plain(int64_t n) { return std::to_string(n); }

std::string layoutOf(const std::vector<int64_t> &layersOfStage) {
  std::string out = "E";
  for (size_t i = 0; i < layersOfStage.size(); ++i) {
    if (i > 0)
      out += "|";
    if (layersOfStage[i] > 0)
      out += layersOfStage[i] == 1 ? "t" : "t*" + plain(layersOfStage[i]);
  }
  return out + "L";
}

std::string evenLayout(int64_t layers, int64_t pp, int64_t vpp) {
  if (vpp == 1)
    return layoutOf(std::vector<int64_t>(static_cast<size_t>(pp), layers / pp));
  SplitRequest request;
  request.pp = pp;
  request.vpp = vpp;
  request.layers = layers;
  return printLayout(defaultSplit(request));
}

SplitRequest splitRequest(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &split) {
  SplitRequest request;
  request.pp = pp;
  request.vpp = vpp;
  request.layers = layers;
  request.firstLayers = split.first.value_or(0);
  request.lastLayers = split.last.value_or(0);
  request.countEmbedding = split.embedding;
  request.countLoss = split.loss;
  return request;
}

std::string unevenLayout(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &split) {
  return unevenLayout(splitRequest(layers, pp, vpp, split));
}

std::string unevenLayout(const SplitRequest &request) {
  std::vector<std::string> stages = defaultSplit(request);
  if (request.vpp > 1)
    return printLayout(stages);
  std::vector<int64_t> counts;
  for (const std::string &stage : stages)
    counts.push_back(std::count(stage.begin(), stage.end(), 't'));
  return withMtp(request.mtp, layoutOf(counts));
}

std::string withMtp(int64_t depths, std::string layout) {
  if (depths > 0)
    layout.insert(layout.rfind('L'), depths == 1 ? "m" : "m*" + plain(depths));
  return layout;
}

std::string proposeLayout(int64_t layers, int64_t pp, int64_t mtp) {
  if (pp < 1 || pp > layers + 2)
    return "";
  return withMtp(mtp, layoutOf(balancedLayers(layers, mtp, pp)));
}

} // namespace lf
