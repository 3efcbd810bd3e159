//===- DefaultSplit.cpp - Megatron's split of layers over stages ----------===//
//
// How many decoder layers each stage gets: even, even with slots for embedding and loss, or uneven at the ends.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/DefaultSplit.h"

#include "lf/Support/Error.h"

#include <algorithm>
#include <utility>

namespace lf {
namespace {

std::string str(int64_t n) { return std::to_string(n); }

std::string remainder(int64_t a, int64_t b) { return str(a) + " % " + str(b) + " = " + str(a % b); }

std::string joined(const std::vector<std::string> &words) {
  std::string out;
  for (const std::string &word : words)
    out += (out.empty() ? "" : &word == &words.back() ? " and " : ", ") + word;
  return out;
}

/// "1, 2, 4": the divisors of n that pass.
template <typename Pass> std::string divisorsOf(int64_t n, Pass pass) {
  std::string out;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0 && pass(d))
      out += (out.empty() ? "" : ", ") + str(d);
  return out;
}

const std::string rankFlag = "\"--pipeline-model-parallel-size\"", layersFlag = "\"--num-layers-per-virtual-pipeline-stage\"",
                  firstFlag = "\"--decoder-first-pipeline-num-layers\"",
                  lastFlag = "\"--decoder-last-pipeline-num-layers\"",
                  embeddingFlag = "\"--account-for-embedding-in-pipeline-split\"",
                  lossFlag = "\"--account-for-loss-in-pipeline-split\"";

int64_t slots(const SplitRequest &r) { return r.layers + r.countEmbedding + r.countLoss; }

/// "the 32 layers" or "34 (32 layers + 1 for the embedding + 1 for the loss)".
std::string slotsText(const SplitRequest &r) {
  if (slots(r) == r.layers)
    return "the " + str(r.layers) + " layers";
  return str(slots(r)) + " (" + str(r.layers) + " layers" + (r.countEmbedding ? " + 1 for the embedding" : "") +
         (r.countLoss ? " + 1 for the loss" : "") + ")";
}

/// Refuses; a note has the layout of `chunks` on a rank that does without the flags.
[[noreturn]] void fail(const SplitRequest &r, int64_t chunks, const std::string &what,
                       const std::string &alsoReplaced = "") {
  constexpr int64_t most = 4096; // a longer layout is no help to a reader
  std::vector<std::string> notes;
  if (chunks >= 1 && chunks <= most && r.pp <= most && r.pp * chunks <= most && r.layers <= most && r.mtp <= most &&
      (chunks == 1 || r.pp > 1)) {
    std::vector<std::string> stages;
    for (int64_t layers : balancedLayers(r.layers, r.mtp, r.pp * chunks))
      stages.push_back((stages.empty() ? "E" : "") + std::string(layers, 't'));
    stages.back().append(r.mtp, 'm').append("L");
    std::vector<std::string> replaced;
    if (!alsoReplaced.empty())
      replaced.push_back(alsoReplaced);
    if (r.vpp > 1 && r.chunksFrom == SplitRequest().chunksFrom)
      replaced.push_back(r.chunksFrom);
    for (const auto &[given, flag] : {std::pair{r.firstLayers != 0, firstFlag}, std::pair{r.lastLayers != 0, lastFlag},
                                      std::pair{r.countEmbedding, embeddingFlag}, std::pair{r.countLoss, lossFlag}})
      if (given)
        replaced.push_back(flag);
    notes.push_back("a layout can split unevenly: --pipeline-model-parallel-layout \"" + printLayout(stages) + "\"" +
                    (replaced.empty() ? "" : ", in place of " + joined(replaced)));
  }
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
    throw usage(rankFlag + ": expected at least 2 for " + str(r.vpp) +
                " chunks on a rank, got 1; raise it, or ask for one chunk");
}

/// Divides what a rank holds over its chunks.
int64_t perChunk(const SplitRequest &r, int64_t onRank, const std::string &rank) {
  if (onRank % r.vpp != 0)
    fail(r, r.vpp,
         r.chunksFrom + ": expected the layers of " + rank + " to be a multiple of its " + str(r.vpp) +
             " chunks, got " + str(onRank) + " (" + remainder(onRank, r.vpp) + ")");
  return onRank / r.vpp;
}

/// The value nearest to `value` from 1 to the number of layers for which `legal` holds; 0: none.
template <typename Legal> int64_t nearestLegal(int64_t value, int64_t layers, Legal legal) {
  for (int64_t away = 0; away <= std::max(layers, value); ++away)
    for (int64_t v : {value - away, value + away})
      if (v >= 1 && v <= layers && legal(v))
        return v;
  return 0;
}

/// Layers in one chunk of each rank, --decoder-first/last-pipeline-num-layers given.
std::vector<int64_t> unevenChunks(const SplitRequest &r) {
  if (r.countEmbedding || r.countLoss)
    throw usage("expected either " + firstFlag + " and " + lastFlag + " or " + embeddingFlag + " and " + lossFlag +
                ", got both; remove one of the pairs");
  for (const auto &[flag, value] : {std::pair{firstFlag, r.firstLayers}, std::pair{lastFlag, r.lastLayers}})
    if (value < 0)
      throw usage(flag + ": expected at least 1, got " + str(value));
  if (r.pp == 1) {
    for (const auto &[flag, value] : {std::pair{firstFlag, r.firstLayers}, std::pair{lastFlag, r.lastLayers}})
      if (value > 0 && value != r.layers)
        throw usage(flag + ": expected " + str(r.layers) + " (all layers of the model, since pp=1), got " + str(value) +
                    "; remove the flag or raise --pp");
    return {r.layers};
  }
  const int64_t ranks = r.pp - (r.firstLayers > 0) - (r.lastLayers > 0), rest = r.layers - r.firstLayers - r.lastLayers;
  const std::string &flag = r.firstLayers > 0 ? firstFlag : lastFlag;
  // What the flag may say, the other one staying as it is.
  const int64_t stated = r.firstLayers > 0 ? r.firstLayers : r.lastLayers,
                other = r.firstLayers > 0 ? r.lastLayers : 0;
  auto mend = [&] {
    int64_t value = nearestLegal(stated, r.layers, [&](int64_t v) {
      int64_t left = r.layers - v - other;
      return left >= 0 && v % r.vpp == 0 && other % r.vpp == 0 &&
             (ranks == 0 ? left == 0 : left % ranks == 0 && left / ranks % r.vpp == 0);
    });
    return value > 0 ? "; use " + str(value) + (ranks == 0 ? ", or remove one of the two flags" : "")
           : ranks == 0 ? "; remove one of the two flags" : "; remove the flag";
  };
  const std::string sum = str(r.layers) + " layers" + (r.firstLayers > 0 ? " - " + str(r.firstLayers) + " first" : "") +
                          (r.lastLayers > 0 ? " - " + str(r.lastLayers) + " last" : "") + " = " + str(rest);
  if (rest < 0 || (ranks == 0 && rest != 0))
    fail(r, r.vpp, flag + ": expected the ranks to hold all layers and no more, got " + sum + " for " + str(ranks) +
                       (ranks == 1 ? " rank" : " ranks") + " between" + mend());
  if (ranks > 0 && rest % ranks != 0)
    fail(r, r.vpp, flag + ": expected the layers between to be a multiple of their " + str(ranks) + " ranks, got " +
                       sum + " (" + remainder(rest, ranks) + ")" + mend());
  std::vector<int64_t> chunks(r.pp, ranks > 0 ? perChunk(r, rest / ranks, "a rank between") : 0);
  if (r.firstLayers > 0)
    chunks.front() = perChunk(r, r.firstLayers, "the first rank");
  if (r.lastLayers > 0)
    chunks.back() = perChunk(r, r.lastLayers, "the last rank");
  return chunks;
}

/// What each rank holds; `chunks` and `flag` are those of a layout that is proposed instead, and what it replaces.
int64_t evenRanks(const SplitRequest &r, int64_t chunks, const std::string &flag = "") {
  if (slots(r) % r.pp != 0)
    fail(r, chunks, rankFlag + ": expected a divisor of " + slotsText(r) + " when no layout is given, got " +
                        str(r.pp) + " (" + remainder(slots(r), r.pp) + "); legal sizes: " +
                        divisorsOf(slots(r), [](int64_t) { return true; }), flag);
  return slots(r) / r.pp;
}

} // namespace

std::vector<std::string> defaultSplit(const SplitRequest &r) {
  checkSizes(r);
  bool uneven = r.firstLayers != 0 || r.lastLayers != 0;
  std::vector<int64_t> chunkOfRank =
      uneven ? unevenChunks(r) : std::vector<int64_t>(r.pp, perChunk(r, evenRanks(r, r.vpp), "a rank"));

  Placement placement{r.placement, r.pp, r.vpp};
  std::vector<std::string> stages;
  for (int64_t s = 0; s < placement.stages(); ++s) {
    bool isFirst = s == 0, isLast = s + 1 == placement.stages();
    int64_t taken = (isFirst && r.countEmbedding) + (isLast && r.countLoss);
    int64_t layers = chunkOfRank[placement.rankOf(s)] - taken;
    if (layers < 0)
      fail(r, r.vpp, embeddingFlag + ", " + lossFlag + ": expected room for " + str(taken) + " in stage " + str(s) +
                         ", got " + str(layers + taken) + "; remove one of them");
    std::string items = isFirst ? "E" : "";
    items.append(layers, 't');
    if (isLast)
      items.append(r.mtp, 'm').append("L");
    stages.push_back(items);
  }
  return stages;
}

int64_t chunksFromLayersPerStage(const SplitRequest &r, int64_t layersPerStage) {
  SplitRequest one = r;
  one.vpp = 1;
  checkSizes(one);
  if (layersPerStage < 1)
    throw usage(layersFlag + ": expected at least 1, got " + str(layersPerStage));
  if (r.firstLayers != 0 || r.lastLayers != 0)
    throw usage("expected " + layersFlag + " without " + firstFlag + " and " + lastFlag + ", got both; use " +
                r.chunksFrom);
  const int64_t stage = r.pp * layersPerStage;
  const int64_t nearest = r.fewestChunks > r.mostChunks
                              ? 0
                              : std::clamp((slots(r) + stage / 2) / stage, r.fewestChunks, r.mostChunks);
  const int64_t onRank = evenRanks(one, nearest, layersFlag);
  if (onRank % layersPerStage != 0) {
    std::string legal = divisorsOf(
        onRank, [&](int64_t d) { return onRank / d >= r.fewestChunks && onRank / d <= r.mostChunks; });
    fail(one, nearest,
         layersFlag + ": expected a divisor of the " + str(onRank) + " layers of a rank, got " + str(layersPerStage) +
             " (" + remainder(onRank, layersPerStage) + ")" + (legal.empty() ? "" : "; legal sizes: " + legal),
         layersFlag);
  }
  return onRank / layersPerStage;
}

std::vector<int64_t> balancedLayers(int64_t layers, int64_t mtp, int64_t stages) {
  // Stages fill up like vessels of unequal floors: the lightest are raised together, what is left over goes to the middle
  // ones from the back (later ranks hold fewer micro-batches), then to the ends.
  std::vector<int64_t> weight(static_cast<size_t>(stages), 0);
  ++weight.front();
  weight.back() += 1 + mtp;
  std::vector<int64_t> floors = weight, sorted = weight;
  std::sort(sorted.begin(), sorted.end());
  int64_t left = layers, level = sorted.front();
  for (int64_t i = 0; i < stages; ++i) { // raise the i + 1 lightest to the next floor, or as far as it goes
    int64_t rise = left / (i + 1);
    if (i + 1 < stages)
      rise = std::min(rise, sorted[i + 1] - level);
    level += rise;
    left -= rise * (i + 1);
    if (i + 1 < stages && level < sorted[i + 1])
      break;
  }
  std::vector<size_t> order;
  for (size_t i = static_cast<size_t>(stages) - 1; i-- > 1;)
    order.push_back(i);
  order.push_back(static_cast<size_t>(stages) - 1);
  if (stages > 1)
    order.push_back(0);
  for (size_t i : order)
    weight[i] = std::max(weight[i], level);
  for (size_t i : order)
    if (left > 0 && weight[i] == level) {
      ++weight[i];
      --left;
    }
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] -= floors[i];
  return weight;
}

} // namespace lf
