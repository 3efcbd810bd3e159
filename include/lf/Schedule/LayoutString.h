//===- LayoutString.h - The text of a pipeline layout ---------------------===//
//
// Reads and writes strings such as "Et*3|(tt|)*29,m|L": syntax only. What a layout means for a model and a number of
// pipeline ranks is StageLayout.h.
//
//   layout  = { element }                        stages are what stands between the bars
//   element = ( symbol | "|" ) [ "*" count ] | "(" element { element } ")" "*" count
//   symbol  = "E" embedding | "t" decoder layer | "m" multi-token prediction layer | "L" loss
//   count   = decimal digits, at least 1
//
// Commas and white space may stand between any two of these and mean nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lf {

/// More symbols, or more stages, than this are refused before they are expanded.
inline constexpr int64_t layoutLimit = 1'000'000;

/// A layout, expanded.
struct LayoutText {
  std::string source;              ///< as the user wrote it
  std::vector<std::string> stages; ///< the symbols of each stage in order, e.g. {"Ettt", "tt", "L"}; at least one stage
  std::vector<int32_t> columns;    ///< of each symbol, stage after stage: its byte offset in source
};

/// Expands `source`. Time and memory grow with the length of the text plus the length of the expansion, which is
/// bounded by layoutLimit. Throws lf::Error (exit 2): `place` (the flag), the column, a line of the text and a caret
/// below it.
LayoutText parseLayout(std::string_view source, std::string_view place = "--pipeline-model-parallel-layout");

/// The canonical string of stages: "x*N" for runs of three symbols or more, "(..|)*N" for equal stages in a row where
/// that is shorter. parseLayout(printLayout(stages)).stages == stages.
std::string printLayout(const std::vector<std::string> &stages);

/// Two lines, indented by two spaces: the part of `source` around byte `offset`, and a caret below that byte. Bytes
/// that do not print are shown as '?', white space as a space.
std::string caretLines(std::string_view source, size_t offset);

} // namespace lf
