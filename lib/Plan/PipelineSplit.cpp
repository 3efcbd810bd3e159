//===- PipelineSplit.cpp - Layers to stages, as layout strings --------------===//
//
// See PipelineSplit.h.
//
//===----------------------------------------------------------------------===//
#include "lf/Plan/PipelineSplit.h"

#include "lf/Schedule/DefaultSplit.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

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

static SplitRequest splitRequest(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &split) {
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

int64_t chunksOfLayers(int64_t layers, int64_t pp, int64_t layersPerStage, const UnevenSplit &split) {
  return chunksFromLayersPerStage(splitRequest(layers, pp, 1, split), layersPerStage);
}

std::string unevenLayout(int64_t layers, int64_t pp, int64_t vpp, const UnevenSplit &split) {
  return vpp == 1 ? unevenLayout(layers, pp, split) : printLayout(defaultSplit(splitRequest(layers, pp, vpp, split)));
}

std::string withMtp(int64_t depths, std::string layout) {
  if (depths > 0)
    layout.insert(layout.rfind('L'), depths == 1 ? "m" : "m*" + plain(depths));
  return layout;
}

std::string proposeLayout(int64_t layers, int64_t pp) {
  if (pp < 1 || pp > layers + 2)
    return "";
  auto stages = static_cast<size_t>(pp);
  std::vector<int64_t> counts(stages, (layers + 2) / pp);
  // What is left over goes to the middle stages from the back (later ranks hold fewer micro-batches), then to the ends.
  int64_t over = (layers + 2) % pp;
  for (size_t i = stages - 1; i-- > 1 && over > 0; --over)
    ++counts[i];
  for (size_t i = stages; over > 0; --over)
    ++counts[--i];
  --counts.front();
  --counts.back();
  return layoutOf(counts);
}

std::string unevenLayout(int64_t layers, int64_t pp, const UnevenSplit &split) {
  const std::string firstName = "\"--decoder-first-pipeline-num-layers\"",
                    lastName = "\"--decoder-last-pipeline-num-layers\"";
  if ((split.first || split.last) && (split.embedding || split.loss))
    throw usage("expected either " + firstName + " and " + lastName + " or the \"--account-for-...\" flags, got both");
  if (split.embedding || split.loss) {
    int64_t slots = layers + split.embedding + split.loss;
    if (slots % pp != 0)
      throw usage("expected layers and accounted slots to be a multiple of \"--pp\" " + plain(pp) + ", got " +
                  plain(slots) + " (" + plain(layers) + " layers" + (split.embedding ? " + 1 embedding" : "") +
                  (split.loss ? " + 1 loss" : "") + "; " + plain(slots) + " % " + plain(pp) + " = " +
                  plain(slots % pp) + "); legal sizes: " + list(divisors(slots)));
    std::vector<int64_t> counts(static_cast<size_t>(pp), slots / pp);
    counts.front() -= split.embedding;
    counts.back() -= split.loss;
    return layoutOf(counts);
  }
  if (pp == 1) {
    for (const auto &[name, value] : {std::pair{firstName, split.first}, std::pair{lastName, split.last}})
      if (value && *value != layers)
        throw usage(name + ": expected " + plain(layers) + " (all layers of the model, since pp=1), got " +
                    plain(*value) + "; remove the flag or raise --pp");
    return layoutOf({layers});
  }
  int64_t middle = pp - split.first.has_value() - split.last.has_value();
  int64_t rest = layers - split.first.value_or(0) - split.last.value_or(0);
  const std::string sum = plain(layers) + " layers" + (split.first ? " - " + plain(*split.first) + " first" : "") +
                          (split.last ? " - " + plain(*split.last) + " last" : "") + " = " + plain(rest);
  const std::string place = split.first ? firstName : lastName;
  if (rest < 0 || (middle == 0 && rest != 0))
    throw usage(place + ": expected the stages to hold all layers and no more, got " + sum + " for " + plain(middle) +
                " middle stages");
  if (middle > 0 && rest % middle != 0)
    throw usage(place + ": expected the layers of the middle stages to be a multiple of " + plain(middle) + ", got " +
                sum + " (" + plain(rest) + " % " + plain(middle) + " = " + plain(rest % middle) + ")");
  std::vector<int64_t> counts(static_cast<size_t>(pp), middle > 0 ? rest / middle : 0);
  if (split.first)
    counts.front() = *split.first;
  if (split.last)
    counts.back() = *split.last;
  return layoutOf(counts);
}

} // namespace lf
