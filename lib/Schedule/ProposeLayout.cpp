//===- ProposeLayout.cpp - The legal layout nearest to a refused one ------===//
//
// Repairs in the order of the constraints: the number of stages, then the decoder layers, then the place of the MTP
// layers. Each repair changes as few symbols as it can and evens out where it has a choice. Several numbers of stages come
// into question, and empty stages at the ends may be cut off or kept: the repair is taken that differs least.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/StageLayout.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lf {
namespace {

/// Above this size a proposal is no help to a reader, and repairs one by one would take long.
constexpr int64_t repairLimit = 4096;

/// Decoder and MTP layers of a stage.
struct Counts {
  int64_t t = 0, m = 0;
  int64_t sum() const { return t + m; }
};
using Stages = std::vector<Counts>;

/// The multiples of pp that the request allows next to the number of stages, without the empty ones at the ends and with
/// them, above and below; none when it allows no number.
std::vector<int64_t> stagesInQuestion(const std::vector<std::string> &texts, const LayoutRequest &request) {
  int64_t fewest = std::max<int64_t>(request.fewestChunks, 1), most = request.mostChunks;
  if (request.chunks > 0) {
    fewest = std::max(fewest, request.chunks);
    most = std::min(most, request.chunks);
  }
  if (request.pp == 1 || (request.pp == 2 && !request.overlapP2p))
    most = std::min<int64_t>(most, 1);
  if (fewest > most)
    return {};
  auto empty = [](const std::string &text) { return text.empty(); };
  auto first = std::find_if_not(texts.begin(), texts.end(), empty);
  auto last = std::find_if_not(texts.rbegin(), std::make_reverse_iterator(first), empty).base();
  std::vector<int64_t> out;
  for (int64_t stages : {last - first, texts.end() - texts.begin()})
    for (int64_t chunks : {(stages + request.pp - 1) / request.pp, stages / request.pp})
      if (int64_t wanted = std::clamp(chunks, fewest, most) * request.pp;
          wanted <= 2 * repairLimit && std::find(out.begin(), out.end(), wanted) == out.end())
        out.push_back(wanted);
  return out;
}

/// Drops empty stages in front and behind while there are too many, so that E or L need not move.
void dropEmptyEnds(Stages &counts, const std::vector<std::string> &texts, int64_t stages) {
  size_t front = 0, back = texts.size();
  auto surplus = [&] { return static_cast<int64_t>(back - front) > stages; };
  while (surplus() && texts[front].empty())
    ++front;
  while (surplus() && texts[back - 1].empty())
    --back;
  counts = Stages(counts.begin() + static_cast<std::ptrdiff_t>(front), counts.begin() + static_cast<std::ptrdiff_t>(back));
}

/// Merges the neighbours that are smallest together, or halves the largest stage.
void repairStages(Stages &counts, int64_t stages) {
  while (static_cast<int64_t>(counts.size()) > stages) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < counts.size(); ++i)
      if (counts[i].sum() + counts[i + 1].sum() < counts[best].sum() + counts[best + 1].sum())
        best = i;
    counts[best].t += counts[best + 1].t;
    counts[best].m += counts[best + 1].m;
    counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  while (static_cast<int64_t>(counts.size()) < stages) {
    auto largest = std::max_element(counts.begin(), counts.end(),
                                    [](const Counts &a, const Counts &b) { return a.t < b.t; });
    Counts half{largest->t / 2, largest->m}; // m stand behind t
    largest->t -= half.t;
    largest->m = 0;
    counts.insert(largest + 1, half);
  }
}

/// Adds to the smallest stages that have layers, takes from the largest.
void repairLayers(Stages &counts, int64_t layers) {
  int64_t total = 0;
  for (const Counts &count : counts)
    total += count.t;
  auto less = [](const Counts &a, const Counts &b) { return a.t < b.t; };
  for (; total > layers; --total)
    --std::max_element(counts.begin(), counts.end(), less)->t;
  for (; total < layers; ++total) {
    auto smallest = counts.end();
    for (auto it = counts.begin(); it != counts.end(); ++it)
      if (it->t > 0 && (smallest == counts.end() || it->t < smallest->t))
        smallest = it;
    ++(smallest == counts.end() ? counts.begin() : smallest)->t;
  }
}

/// The stage of the user's last m if it may hold them all, else the last.
int64_t mtpStage(const Stages &counts, int64_t pp) {
  int64_t last = static_cast<int64_t>(counts.size()) - 1;
  for (int64_t s = last; s > last - pp; --s) {
    if (counts[s].m > 0)
      return s;
    if (counts[s].t > 0)
      break;
  }
  return last;
}

std::vector<std::string> written(const Stages &counts, const LayoutRequest &request) {
  int64_t last = static_cast<int64_t>(counts.size()) - 1, mtp = mtpStage(counts, request.pp);
  std::vector<std::string> out;
  for (int64_t s = 0; s <= last; ++s) {
    std::string stage = s == 0 ? "E" : "";
    stage.append(counts[s].t, 't');
    if (s == mtp)
      stage.append(request.mtp, 'm');
    out.push_back(stage + (s == last ? "L" : ""));
  }
  return out;
}

std::string joined(const std::vector<std::string> &stages) {
  std::string out;
  for (const std::string &stage : stages)
    out += (&stage == &stages.front() ? "" : "|") + stage;
  return out;
}

/// Symbols and bars to be taken out and put in, so that one becomes the other.
int64_t difference(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front())
    a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back())
    a.remove_suffix(1), b.remove_suffix(1);
  std::vector<int32_t> common(b.size() + 1, 0); // longest common subsequence with the first letters of b
  for (char c : a)
    for (size_t i = 0, diagonal = 0; i < b.size(); ++i) {
      size_t above = static_cast<size_t>(common[i + 1]);
      common[i + 1] = c == b[i] ? static_cast<int32_t>(diagonal) + 1 : std::max(common[i + 1], common[i]);
      diagonal = above;
    }
  return static_cast<int64_t>(a.size() + b.size()) - 2 * common.back();
}

} // namespace

std::string proposeLayout(const std::vector<std::string> &stages, const LayoutRequest &request) {
  if (request.pp < 1 || request.layers < 1 || request.mtp < 0 || request.pp > repairLimit ||
      request.layers > repairLimit || request.mtp > repairLimit)
    return "";
  Stages original;
  int64_t symbols = 0;
  for (const std::string &stage : stages) {
    original.push_back({std::count(stage.begin(), stage.end(), 't'), std::count(stage.begin(), stage.end(), 'm')});
    symbols += static_cast<int64_t>(stage.size());
  }
  if (static_cast<int64_t>(stages.size()) > repairLimit || symbols > repairLimit)
    return "";
  std::vector<std::string> best;
  int64_t least = 0;
  for (int64_t wanted : stagesInQuestion(stages, request))
    for (bool cut : {false, true}) {
      Stages counts = original;
      if (cut)
        dropEmptyEnds(counts, stages, wanted);
      repairStages(counts, wanted);
      repairLayers(counts, request.layers);
      std::vector<std::string> proposal = written(counts, request);
      int64_t differs = difference(joined(stages), joined(proposal));
      if (best.empty() || differs < least) {
        best = std::move(proposal);
        least = differs;
      }
    }
  return best.empty() ? "" : printLayout(best);
}

} // namespace lf
