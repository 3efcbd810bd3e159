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
#include <optional>
#include <random>
#include <string>

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
    return result;
  }

private:
  void skip() {
    while (at < source.size() && std::string(", \t\n\v\f\r").find(source[at]) != std::string::npos)
      ++at;
  }
  bool next(const std::string &any) {
    skip();
    return at < source.size() && any.find(source[at]) != std::string::npos;
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
      if (static_cast<double>(count) * static_cast<double>(one.size()) > 2e6)
        failed = true;
      for (long i = 0; i < count && !failed; ++i)
        result += one;
    }
    return result;
  }

  const std::string &source;
  size_t at = 0;
  bool failed = false;
};

/// Mostly layout characters, sometimes whole pieces, seldom any byte. Counts are small, or far beyond the limit.
inline std::string randomLayout(std::mt19937_64 &random) {
  static const char *pieces[] = {"E",       "t",      "m",  "L",  "|",
                                 "*2",      "*3",     "(",  ")",  ")*2",
                                 "tt|",     "Ett",    ",",  " ",  "*",
                                 "t*4",     "(t|)*3", "*0", "*1", "7",
                                 "ttL",     "|L",     "mL", "x",  "*99999999999999999999",
                                 "(tt|)*2", "\n",     "E|", "t",  "t|t",
                                 "*12"};
  std::string text = random() % 4 ? "E" : "";
  for (size_t n = random() % 14; n > 0; --n)
    text += random() % 200 ? std::string(pieces[random() % std::size(pieces)])
                           : std::string(1, static_cast<char>(random() % 256));
  return random() % 3 ? text + "L" : text;
}

/// Empty, or the property that failed.
inline std::string checkLayoutProperties(const std::string &text, std::mt19937_64 &random) {
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
  request.pp = 1 + static_cast<int64_t>(random() % 4);
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
