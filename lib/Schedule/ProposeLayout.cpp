//===- ProposeLayout.cpp - The legal layout nearest to a refused one ------===//
//
// Repairs in the order of the constraints: the number of stages, then the decoder layers, then the place of the MTP
// layers. Each repair changes as few symbols as it can and evens out where it has a choice.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/StageLayout.h"

#include <algorithm>

namespace lf {
namespace {

/// Above this size a proposal is no help to a reader, and repairs one by one would take long.
constexpr int64_t repairLimit = 4096;

using Counts = std::vector<int64_t>; ///< decoder layers of each stage

int64_t nearestStages(int64_t stages, const LayoutRequest &request) {
  int64_t pp = request.pp;
  int64_t chunks = std::max<int64_t>(1, (stages + pp / 2) / pp);
  if (request.chunks > 0)
    chunks = request.chunks;
  if (pp == 1 || (pp == 2 && !request.overlapP2p))
    chunks = 1;
  return chunks * pp;
}

/// Merges the neighbours that are smallest together, or halves the largest stage.
void repairStages(Counts &counts, int64_t stages) {
  while (static_cast<int64_t>(counts.size()) > stages) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < counts.size(); ++i)
      if (counts[i] + counts[i + 1] < counts[best] + counts[best + 1])
        best = i;
    counts[best] += counts[best + 1];
    counts.erase(counts.begin() + best + 1);
  }
  while (static_cast<int64_t>(counts.size()) < stages) {
    auto largest = std::max_element(counts.begin(), counts.end());
    int64_t half = *largest / 2;
    *largest -= half;
    counts.insert(largest + 1, half);
  }
}

/// Adds to the smallest stages that have layers, takes from the largest.
void repairLayers(Counts &counts, int64_t layers) {
  int64_t total = 0;
  for (int64_t count : counts)
    total += count;
  for (; total > layers; --total)
    --*std::max_element(counts.begin(), counts.end());
  for (; total < layers; ++total) {
    auto smallest = counts.end();
    for (auto it = counts.begin(); it != counts.end(); ++it)
      if (*it > 0 && (smallest == counts.end() || *it < *smallest))
        smallest = it;
    ++*(smallest == counts.end() ? counts.begin() : smallest);
  }
}

/// The stage of the user's last m if it may hold them all, else the last.
int64_t mtpStage(const std::vector<std::string> &stages, const Counts &counts, int64_t pp) {
  int64_t last = static_cast<int64_t>(counts.size()) - 1;
  if (stages.size() != counts.size())
    return last;
  for (int64_t s = last; s > last - pp; --s) {
    if (stages[s].find('m') != std::string::npos)
      return s;
    if (counts[s] > 0)
      break;
  }
  return last;
}

} // namespace

std::string proposeLayout(const std::vector<std::string> &stages, const LayoutRequest &request) {
  if (request.pp < 1 || request.layers < 1 || request.mtp < 0 || request.pp > repairLimit ||
      request.layers > repairLimit || request.mtp > repairLimit || (request.chunks > 1 && request.pp == 1) ||
      (request.chunks > 1 && request.pp == 2 && !request.overlapP2p))
    return "";
  Counts counts;
  int64_t symbols = 0;
  for (const std::string &stage : stages) {
    counts.push_back(std::count(stage.begin(), stage.end(), 't'));
    symbols += static_cast<int64_t>(stage.size());
  }
  int64_t wanted = nearestStages(static_cast<int64_t>(stages.size()), request);
  if (static_cast<int64_t>(stages.size()) > repairLimit || symbols > repairLimit || wanted > 2 * repairLimit)
    return "";
  repairStages(counts, wanted);
  repairLayers(counts, request.layers);

  int64_t mtp = mtpStage(stages, counts, request.pp);
  std::vector<std::string> proposal;
  for (int64_t s = 0; s < wanted; ++s) {
    std::string stage = s == 0 ? "E" : "";
    stage.append(counts[s], 't');
    if (s == mtp)
      stage.append(request.mtp, 'm');
    proposal.push_back(stage + (s + 1 == wanted ? "L" : ""));
  }
  return printLayout(proposal);
}

} // namespace lf
