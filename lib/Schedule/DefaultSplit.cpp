//===- DefaultSplit.cpp - Megatron's split of layers over stages ----------===//
//
// How many decoder layers each stage gets: even, even with slots for embedding and loss, or uneven at the ends.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/DefaultSplit.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {
namespace {

std::string str(int64_t n) { return std::to_string(n); }

std::string division(int64_t a, int64_t b) {
  return str(a) + " / " + str(b) + " = " + str(a / b) + " remainder " + str(a % b);
}

int64_t slots(const SplitRequest &r) { return r.layers + r.countEmbedding + r.countLoss; }

/// "32 layers + 1 for the embedding + 1 for the loss = 34".
std::string slotsText(const SplitRequest &r) {
  std::string text = str(r.layers) + " layers";
  if (r.countEmbedding)
    text += " + 1 for the embedding";
  if (r.countLoss)
    text += " + 1 for the loss";
  return slots(r) == r.layers ? text : text + " = " + str(slots(r));
}

[[noreturn]] void fail(const SplitRequest &r, const std::string &what) {
  LayoutRequest request;
  request.pp = r.pp;
  request.layers = r.layers;
  request.mtp = r.mtp;
  request.chunks = r.vpp;
  std::vector<std::string> even(std::clamp<int64_t>(r.pp * r.vpp, 1, 4096));
  for (int64_t i = 0, n = static_cast<int64_t>(even.size()); i < n && r.layers > 0 && r.layers <= 4096; ++i)
    even[i].assign((i + 1) * r.layers / n - i * r.layers / n, 't');
  std::string proposal = proposeLayout(even, request);
  std::vector<std::string> notes;
  if (!proposal.empty())
    notes.push_back("a layout can split unevenly: --pipeline-model-parallel-layout \"" + proposal + "\"");
  throw usage(what, notes);
}

void checkSizes(const SplitRequest &r) {
  if (r.pp < 1 || r.vpp < 1 || r.pp > layoutLimit || r.vpp > layoutLimit || r.pp * r.vpp > layoutLimit)
    throw usage("expected pipeline ranks (--pp) x chunks (--vpp) from 1 to " + str(layoutLimit) + ", got " + str(r.pp) +
                " x " + str(r.vpp));
  if (r.layers < 1 || r.mtp < 0 || r.layers > layoutLimit || r.mtp > layoutLimit)
    throw usage("expected 1 to " + str(layoutLimit) + " decoder layers and 0 to " + str(layoutLimit) +
                " MTP layers, got " + str(r.layers) + " and " + str(r.mtp));
  if (r.vpp > 1 && r.pp == 1)
    fail(r, "expected a pipeline size (--pp) above 1 for " + str(r.vpp) + " chunks on a rank, got 1");
}

/// Divides what a rank holds over its chunks.
int64_t perChunk(const SplitRequest &r, int64_t onRank, const std::string &what) {
  if (onRank % r.vpp != 0)
    fail(r, "expected " + what + " to be divisible by chunks on a rank (--vpp), got " + division(onRank, r.vpp));
  return onRank / r.vpp;
}

/// Layers in one chunk of each rank, --decoder-first/last-pipeline-num-layers given.
std::vector<int64_t> unevenChunks(const SplitRequest &r) {
  const std::string first = "--decoder-first-pipeline-num-layers", last = "--decoder-last-pipeline-num-layers";
  if (r.countEmbedding || r.countLoss)
    throw usage("expected either " + first + " and " + last + ", or --account-for-embedding-in-pipeline-split and " +
                "--account-for-loss-in-pipeline-split, got both");
  if (r.firstLayers < 0 || r.lastLayers < 0)
    throw usage("expected " + first + " and " + last + " to be at least 1, got " +
                str(r.firstLayers < 0 ? r.firstLayers : r.lastLayers));
  int64_t given = (r.firstLayers > 0) + (r.lastLayers > 0);
  int64_t middleRanks = r.pp - given, middle = r.layers - r.firstLayers - r.lastLayers;
  std::string sum = str(r.layers) + " layers - " + str(r.firstLayers) + " on the first rank - " + str(r.lastLayers) +
                    " on the last = " + str(middle);
  if (middleRanks < 0)
    throw usage("expected " + first + " or " + last + " alone with a pipeline size (--pp) of 1, got both");
  if (middle < 0 || (middleRanks == 0 && middle != 0))
    fail(r, "expected " + str(middle < 0 ? 0 : middleRanks) + (middle < 0 ? " or more" : "") +
                " layers left for the ranks between, got " + sum);
  if (middleRanks > 0 && middle % middleRanks != 0)
    fail(r, "expected the layers between to be divisible by " + str(middleRanks) + " ranks, got " + sum + ", " +
                division(middle, middleRanks));
  int64_t each = middleRanks > 0 ? perChunk(r, middle / middleRanks, "the layers of a rank between") : 0;
  std::vector<int64_t> chunks(r.pp, each);
  if (r.firstLayers > 0)
    chunks.front() = perChunk(r, r.firstLayers, first);
  if (r.lastLayers > 0)
    chunks.back() = perChunk(r, r.lastLayers, last);
  return chunks;
}

std::vector<int64_t> evenChunks(const SplitRequest &r) {
  if (slots(r) % r.pp != 0)
    fail(r, "expected layers divisible by the pipeline size (--pp), got " + slotsText(r) + ", " +
                division(slots(r), r.pp));
  return std::vector<int64_t>(r.pp, perChunk(r, slots(r) / r.pp, "the layers of a rank"));
}

} // namespace

std::vector<std::string> defaultSplit(const SplitRequest &r) {
  checkSizes(r);
  bool uneven = r.firstLayers != 0 || r.lastLayers != 0;
  std::vector<int64_t> chunkOfRank = uneven ? unevenChunks(r) : evenChunks(r);

  Placement placement{r.placement, r.pp, r.vpp};
  std::vector<std::string> stages;
  for (int64_t s = 0; s < placement.stages(); ++s) {
    bool isFirst = s == 0, isLast = s + 1 == placement.stages();
    int64_t taken = (isFirst && r.countEmbedding) + (isLast && r.countLoss);
    int64_t layers = chunkOfRank[placement.rankOf(s)] - taken;
    if (layers < 0)
      fail(r, "expected room for " + str(taken) + " slots of embedding and loss in stage " + str(s) + ", got " +
                  str(layers + taken) + " slots a stage (" + slotsText(r) + " / " + str(placement.stages()) +
                  " stages)");
    std::string items = isFirst ? "E" : "";
    items.append(layers, 't');
    if (isLast)
      items.append(r.mtp, 'm').append("L");
    stages.push_back(items);
  }
  return stages;
}

int64_t chunksFromLayersPerStage(const SplitRequest &r, int64_t layersPerStage) {
  const std::string flag = "--num-layers-per-virtual-pipeline-stage";
  SplitRequest one = r;
  one.vpp = 1;
  checkSizes(one);
  if (layersPerStage < 1)
    throw usage("expected " + flag + " to be at least 1, got " + str(layersPerStage));
  if (r.firstLayers != 0 || r.lastLayers != 0)
    throw usage("expected " + flag + " without --decoder-first-pipeline-num-layers and " +
                "--decoder-last-pipeline-num-layers, got both; use --num-virtual-stages-per-pipeline-rank");
  int64_t onRank = evenChunks(one).front();
  if (onRank % layersPerStage != 0)
    fail(one, "expected the layers of a rank to be divisible by " + flag + ", got " + slotsText(r) + ", " +
                  division(slots(r), r.pp) + ", " + division(onRank, layersPerStage));
  return onRank / layersPerStage;
}

} // namespace lf
