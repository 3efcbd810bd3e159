//===- LayoutFuzz.h - Properties of layouts on random strings -------------===//
//
// Strings that are nearly layouts, and what must hold for each: the parser agrees with a naive recursive one, printing
// round-trips, refusals carry a caret, proposals are legal. Shared by the unit test and lf-fuzz-layout.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/Schedule/StageLayout.h"
#include "lf/Support/Error.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace lf::test {

/// Expands by the grammar, recursively; short strings and small counts only. Nothing: not a layout.
class NaiveLayout {
public:
  explicit NaiveLayout(const std::string &source) : source(source) {}

  std::optional<std::string> expand() {
    std::string result = elements();
    skip();
    if (failed || result.empty() || at != source.size())
      return std::nullopt;
    auto bars = std::count(result.begin(), result.end(), '|');
    if (bars + 1 > layoutLimit || static_cast<int64_t>(result.size()) - bars > layoutLimit)
      return std::nullopt;
    return result;
  }

private:
  void skip() {
    while (at < source.size() && std::string_view(", \t\n\v\f\r").find(source[at]) != std::string_view::npos)
      ++at;
  }
  bool next(std::string_view any) {
    skip();
    return at < source.size() && any.find(source[at]) != std::string_view::npos;
  }
  std::string elements() {
    std::string result;
    while (!failed && next("EtmL|(")) {
      std::string one;
      bool group = source[at] == '(';
      if (group) {
        ++at;
        one = elements();
        failed = failed || one.empty() || !next(")");
        if (failed)
          return "";
      } else {
        one = source[at];
      }
      ++at;
      long count = 1;
      if (next("*")) {
        ++at;
        skip();
        size_t digits = at;
        while (at < source.size() && source[at] >= '0' && source[at] <= '9')
          ++at;
        count = at == digits || at - digits > 9 ? 0 : std::stol(source.substr(digits, at - digits));
        failed = count < 1 || next("*");
      } else {
        failed = group;
      }
      if (static_cast<double>(count) * static_cast<double>(one.size()) > 2.0 * layoutLimit)
        failed = true; // more than the limit of symbols, or of bars
      for (long i = 0; i < count && !failed; ++i)
        result += one;
    }
    return result;
  }

  const std::string &source;
  size_t at = 0;
  bool failed = false;
};

/// Strings that are nearly layouts, in turn: pieces of the grammar in any order; derivations of the grammar; real layouts with
/// a few edits. Mostly short. Counts are small, or far beyond the limit.
class LayoutStrings {
public:
  explicit LayoutStrings(uint64_t seed) : random(seed) {}

  /// The next string; valid until the next call. Nothing is allocated once the buffers have their size.
  const std::string &next() {
    text.clear();
    switch (random() % 4) {
    case 0:
      pieces();
      break;
    case 1:
      edited();
      break;
    default:
      if (random() % 8)
        text += 'E';
      derivation(1 + below(6), 2);
      if (random() % 8)
        text += 'L';
      if (random() % 8 == 0)
        edit();
      break;
    }
    return text;
  }

  std::mt19937_64 random;

private:
  size_t below(size_t n) { return static_cast<size_t>(random() % n); }

  void pieces() {
    static constexpr std::string_view all[] = {"E",       "t",      "m",  "L",  "|",
                                               "*2",      "*3",     "(",  ")",  ")*2",
                                               "tt|",     "Ett",    ",",  " ",  "*",
                                               "t*4",     "(t|)*3", "*0", "*1", "7",
                                               "ttL",     "|L",     "mL", "x",  "*99999999999999999999",
                                               "(tt|)*2", "\n",     "E|", "t",  "t|t",
                                               "*12"};
    text = random() % 4 ? "E" : "";
    for (size_t n = below(14); n > 0; --n)
      if (random() % 200)
        text += all[below(std::size(all))];
      else
        text += static_cast<char>(random() % 256);
    if (random() % 3 == 0)
      text += 'L';
  }

  void count() {
    if (random() % 2)
      return;
    text += '*';
    text += static_cast<char>('1' + below(6));
  }

  /// Elements of the grammar: symbols, bars, groups up to `depth` deep.
  void derivation(size_t elements, int depth) {
    for (; elements > 0; --elements) {
      if (random() % 16 == 0)
        text += ", \n\t"[below(4)];
      if (depth > 0 && random() % 5 == 0) {
        text += '(';
        derivation(1 + below(3), depth - 1);
        text += ")*";
        text += static_cast<char>('1' + below(4));
        continue;
      }
      text += "ttttt|||m"[below(9)];
      if (random() % 4 == 0)
        count();
    }
  }

  void edited() {
    // Published layouts of large models, and those of the documentation.
    static constexpr std::string_view real[] = {"Et*3|(tt|)*29,m|L", "E|(tt|)*2,(t|)*4,mL", "E(t*2|)*3ttL",
                                                "Ett|tt|tt|ttL",     "E|(t|)*3,m|m||L",     "E|t*4|t*4|L",
                                                "Et|t||ttL",         "Ett|tt|m|L",          "E|((tt|)*2t|)*3L"};
    text = real[below(std::size(real))];
    for (size_t edits = below(4); edits > 0; --edits)
      edit();
  }

  /// Drops, doubles, exchanges or replaces one character, or moves the tail to the front.
  void edit() {
    if (text.empty())
      return;
    static constexpr std::string_view usual = "EtmL|*(), 0123";
    const size_t at = below(text.size());
    const char fresh = random() % 50 ? usual[below(usual.size())] : static_cast<char>(random() % 256);
    switch (random() % 6) {
    case 0:
      text.erase(at, 1);
      break;
    case 1:
      text.insert(at, 1, text[at]);
      break;
    case 2:
      std::swap(text[at], text[below(text.size())]);
      break;
    case 3:
      text[at] = fresh;
      break;
    case 4:
      text.insert(at, 1, fresh);
      break;
    default:
      std::rotate(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), text.end());
      break;
    }
  }

  std::string text;
};

/// How far strings came, so that a fuzz that tests refusals only is seen.
struct LayoutTally {
  int64_t strings = 0, parsed = 0, resolved = 0;
};

/// Empty, or the property that failed.
inline std::string checkLayoutProperties(const std::string &text, std::mt19937_64 &random, LayoutTally &tally) {
  ++tally.strings;
  std::optional<LayoutText> parsed;
  try {
    parsed = parseLayout(text);
  } catch (const Error &error) {
    std::string message = error.what();
    size_t caret = message.rfind('\n');
    if (error.code != Exit::usage || message.find(", column ") == std::string::npos || caret == std::string::npos ||
        message.find_first_not_of(' ', caret + 1) != message.size() - 1 || message.back() != '^')
      return "a refusal names the column and ends with a caret";
  }
  std::optional<std::string> naive = NaiveLayout(text).expand();
  if (parsed.has_value() != naive.has_value())
    return parsed ? "accepted, but not a layout by the grammar" : "refused, but a layout by the grammar";
  if (!parsed)
    return "";
  ++tally.parsed;
  std::string joined;
  for (const std::string &stage : parsed->stages)
    joined += (&stage == &parsed->stages.front() ? "" : "|") + stage;
  if (joined != *naive)
    return "expansion differs from the naive one";
  size_t symbol = 0;
  for (char c : joined)
    if (c != '|' && text[parsed->columns[symbol++]] != c)
      return "columns point at the symbols";
  if (parseLayout(printLayout(parsed->stages)).stages != parsed->stages)
    return "printing round-trips";

  LayoutRequest request;
  auto stages = static_cast<int64_t>(parsed->stages.size());
  request.pp = 1 + static_cast<int64_t>(random() % 4);
  if (random() % 2) // one that divides the stages
    request.pp = stages % 16 == 0 && stages > 16 ? 16 : std::gcd(stages, int64_t(12));
  int64_t t = std::count(joined.begin(), joined.end(), 't'), m = std::count(joined.begin(), joined.end(), 'm');
  request.layers = random() % 2 ? t : 1 + static_cast<int64_t>(random() % 12);
  request.mtp = random() % 2 ? m : static_cast<int64_t>(random() % 3);
  request.overlapP2p = random() % 4 != 0;
  request.chunks = static_cast<int64_t>(random() % 5) / 2; // 0: any
  request.placement = random() % 4 ? PlacementKind::roundRobin : PlacementKind::vee;
  try {
    StageLayout layout = resolveLayout(*parsed, request);
    int64_t layers = 0;
    for (const PipelineStage &stage : layout.stages) {
      if (layout.placement.stageOf(stage.pp, stage.chunk) != stage.stage)
        return "placement is one to one";
      for (int64_t layer : stage.layers)
        if (layer != layers++)
          return "layers count up";
    }
    if (layers != request.layers)
      return "every layer is in a stage";
    ++tally.resolved;
  } catch (const Error &) {
    std::string proposal = proposeLayout(parsed->stages, request);
    bool possible = request.layers >= 1 && (request.chunks < 2 || request.pp > (request.overlapP2p ? 1 : 2));
    if (proposal.empty())
      return !possible || joined.size() > 4096 ? "" : "a refusal proposes a layout";
    try {
      resolveLayout(proposal, request);
    } catch (const Error &error) {
      return "the proposal " + proposal + " is legal: " + error.what();
    }
  }
  return "";
}

} // namespace lf::test
