//===- StageLayout.cpp - Checks of a layout, placement of its stages ------===//
//
// Constraints C1 to C9 in order, each with both numbers and the column; then the numbering of layers.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/StageLayout.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {
namespace {

std::string str(int64_t n) { return std::to_string(n); }

/// A symbol of the layout, where it stands, and which one of all symbols it is.
struct Found {
  int64_t stage = -1, index = -1;
};

class Checker {
public:
  Checker(const LayoutText &text, const LayoutRequest &request) : text(text), request(request) {}

  /// Returns chunks on a rank.
  int64_t check() const {
    if (request.pp < 1)
      fail("expected a pipeline size (--pp) of at least 1, got " + str(request.pp));
    if (request.layers < 1)
      fail("expected a model with at least 1 decoder layer, got " + str(request.layers));
    int64_t chunks = checkStages();
    checkEnds();
    checkOnce('E', "embedding");
    checkOnce('L', "loss");
    checkCount('t', request.layers, "decoder layers (num_hidden_layers)");
    checkCount('m', request.mtp, "MTP layers (--mtp-num-layers)");
    checkMtp(chunks);
    return chunks;
  }

private:
  [[noreturn]] void fail(const std::string &what, int64_t symbol = -1) const {
    std::string message = request.place;
    bool pointed = symbol >= 0 && symbol < static_cast<int64_t>(text.columns.size());
    size_t column = pointed ? text.columns[symbol] : 0;
    if (pointed)
      message += ", column " + str(column + 1);
    message += ": " + what;
    if (pointed)
      message += "\n" + caretLines(text.source, column);
    std::string proposal = proposeLayout(text.stages, request);
    std::vector<std::string> notes;
    if (!proposal.empty())
      notes.push_back("the nearest legal layout is \"" + proposal + "\"");
    throw usage(message, notes);
  }

  /// C2, C3.
  int64_t checkStages() const {
    int64_t stages = static_cast<int64_t>(text.stages.size()), pp = request.pp;
    if (request.chunks > 0 && stages != request.chunks * pp)
      fail("expected " + str(request.chunks * pp) + " stages (" + str(request.chunks) + " on each of " + str(pp) +
           " pipeline ranks, as the schedule asks), got " + str(stages));
    if (stages % pp != 0) {
      bool add = stages / pp + 1 <= request.mostChunks, remove = stages / pp >= std::max<int64_t>(request.fewestChunks, 1);
      fail("expected a number of stages divisible by the pipeline size (--pp), got " + str(stages) + " stages / " +
           str(pp) + " = " + str(stages / pp) + " remainder " + str(stages % pp) + (add || remove ? "; " : "") +
           (add ? "add " + str(pp - stages % pp) : "") + (add && remove ? " or " : "") +
           (remove ? "remove " + str(stages % pp) : ""));
    }
    int64_t chunks = stages / pp;
    if (chunks > 1 && pp == 1)
      fail("expected 1 stage, since more than one on a rank needs a pipeline size (--pp) above 1, got " + str(stages) +
           " stages / 1 rank");
    if (chunks > 1 && pp == 2 && !request.overlapP2p)
      fail("expected a pipeline size (--pp) of at least 3 for " + str(chunks) +
           " stages on a rank without overlapped p2p, got 2; drop --no-overlap-p2p-communication, or use 2 stages");
    return chunks;
  }

  /// C4.
  void checkEnds() const {
    const std::string &first = text.stages.front(), &last = text.stages.back();
    if (first.empty() || first.front() != 'E')
      fail("expected E to begin the first stage, got " + (first.empty() ? "an empty stage" : quoted(first.front())), 0);
    if (last.empty() || last.back() != 'L')
      fail("expected L to end the last stage, got " + (last.empty() ? "an empty stage" : quoted(last.back())),
           static_cast<int64_t>(text.columns.size()) - 1);
  }

  static std::string quoted(char c) { return {'\'', c, '\''}; }

  /// C5.
  void checkOnce(char symbol, const char *what) const {
    int64_t count = 0, surplus = -1;
    each([&](char c, Found found) {
      if (c == symbol && ++count == 2)
        surplus = found.index;
    });
    if (count != 1)
      fail("expected exactly one " + std::string(1, symbol) + " (" + what + "), got " + str(count), surplus);
  }

  /// C6, C7.
  void checkCount(char symbol, int64_t expected, const char *what) const {
    int64_t count = 0, last = -1;
    each([&](char c, Found found) {
      if (c == symbol) {
        ++count;
        last = found.index;
      }
    });
    if (count != expected)
      fail("expected " + str(expected) + " " + symbol + ", one for each of the model's " + what + ", got " +
               str(count) +
               (count < expected ? "; " + str(expected - count) + " missing"
                                 : "; " + str(count - expected) + " too many"),
           last);
  }

  /// C8, C9.
  void checkMtp(int64_t chunks) const {
    Found firstMtp, decoderAfter, otherStage;
    each([&](char c, Found found) {
      if (c == 'm' && firstMtp.index < 0)
        firstMtp = found;
      if (c == 'm' && found.stage != firstMtp.stage && otherStage.index < 0)
        otherStage = found;
      if (c == 't' && firstMtp.index >= 0 && decoderAfter.index < 0)
        decoderAfter = found;
    });
    if (firstMtp.index < 0)
      return;
    if (decoderAfter.index >= 0)
      fail("expected every t before the first m, got t in stage " + str(decoderAfter.stage) + " after m in stage " +
               str(firstMtp.stage),
           decoderAfter.index);
    int64_t chunk = firstMtp.stage / request.pp;
    if (chunk != chunks - 1)
      fail("expected m in the last chunk of a rank (chunk " + str(chunks - 1) + ", stages " +
               str((chunks - 1) * request.pp) + " to " + str(chunks * request.pp - 1) + "), got stage " +
               str(firstMtp.stage) + " (chunk " + str(chunk) + ")",
           firstMtp.index);
    if (otherStage.index >= 0)
      fail("expected all m in one stage, got m in stage " + str(firstMtp.stage) + " and in stage " +
               str(otherStage.stage),
           otherStage.index);
  }

  template <typename Visit> void each(Visit visit) const {
    int64_t index = 0;
    for (size_t stage = 0; stage < text.stages.size(); ++stage)
      for (char c : text.stages[stage])
        visit(c, Found{static_cast<int64_t>(stage), index++});
  }

  const LayoutText &text;
  const LayoutRequest &request;
};

} // namespace

StageLayout resolveLayout(const LayoutText &text, const LayoutRequest &request) {
  int64_t chunks = Checker(text, request).check();
  return placeStages(text.stages, {request.placement, request.pp, chunks});
}

StageLayout resolveLayout(std::string_view text, const LayoutRequest &request) {
  return resolveLayout(parseLayout(text, request.place), request);
}

StageLayout placeStages(const std::vector<std::string> &stages, const Placement &placement) {
  StageLayout layout{placement, {}, printLayout(stages)};
  int64_t layer = 0, depth = 0;
  for (const std::string &items : stages) {
    PipelineStage stage;
    stage.stage = static_cast<int64_t>(layout.stages.size());
    stage.pp = placement.rankOf(stage.stage);
    stage.chunk = placement.chunkOf(stage.stage);
    stage.items = items;
    for (char c : items) {
      if (c == 't')
        stage.layers.push_back(layer++);
      if (c == 'm')
        stage.mtp.push_back(depth++);
    }
    layout.stages.push_back(std::move(stage));
  }
  return layout;
}

} // namespace lf
