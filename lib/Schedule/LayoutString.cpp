//===- LayoutString.cpp - Parser of layout strings ------------------------===//
//
// One left-to-right scan into one buffer. An open group is an offset into the buffer, so closing it appends count - 1
// copies in place: no recursion, and no byte is written that the bounded result does not contain.
//
//===----------------------------------------------------------------------===//
#include "lf/Schedule/LayoutString.h"

#include "lf/Support/Error.h"

#include <algorithm>

namespace lf {
namespace {

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isSymbol(char c) { return c == 'E' || c == 't' || c == 'm' || c == 'L'; }

/// The byte as a message shows it.
std::string shown(unsigned char c) {
  if (c >= 0x20 && c < 0x7f)
    return {'\'', static_cast<char>(c), '\''};
  static const char hex[] = "0123456789abcdef";
  return std::string("byte 0x") + hex[c >> 4] + hex[c & 15];
}

class Parser {
public:
  Parser(std::string_view source, std::string_view place) : source(source), place(place) {}

  LayoutText parse() {
    skip();
    if (at == source.size())
      fail(0, "expected a layout such as \"Ett|ttL\", got an empty string");
    while (at < source.size()) {
      element();
      skip();
    }
    if (!groups.empty())
      fail(groups.back().column, "expected ')' for this '(', got the end of the layout");
    return split();
  }

private:
  /// Where something that may be repeated began.
  struct Group {
    size_t start;   ///< offset in the buffer
    size_t column;  ///< in the source, of its '(' or symbol
    int64_t stages; ///< total before it
  };

  [[noreturn]] void fail(size_t column, const std::string &what) const {
    throw usage(std::string(place) + ", column " + std::to_string(column + 1) + ": " + what + "\n" +
                caretLines(source, column));
  }

  std::string gotHere() const { return at < source.size() ? shown(source[at]) : "the end of the layout"; }

  void skip() {
    while (at < source.size() && (source[at] == ',' || isSpace(source[at])))
      ++at;
  }

  void element() {
    size_t column = at;
    char c = source[at];
    if (c == '(') {
      groups.push_back({buffer.size(), column, stages});
      ++at;
      return;
    }
    if (c == ')') {
      closeGroup();
      return;
    }
    if (c == '*')
      fail(column, "expected a symbol, a bar or a group before '*'");
    if (!isSymbol(c) && c != '|')
      fail(column, "expected one of E t m L | ( ) * or a digit after '*', got " + shown(c));
    ++at;
    Group one{buffer.size(), column, stages};
    append(column, c);
    skip();
    if (at < source.size() && source[at] == '*')
      repeat(one);
  }

  void closeGroup() {
    size_t column = at;
    if (groups.empty())
      fail(column, "expected '(' before ')'");
    Group group = groups.back();
    groups.pop_back();
    if (group.start == buffer.size())
      fail(group.column, "expected a group with content, got an empty one");
    ++at;
    skip();
    if (at == source.size() || source[at] != '*')
      fail(column, "expected '*' and a count after ')', got " + gotHere());
    repeat(group);
  }

  /// Reads "* count" and brings what the buffer holds from the start of `group` on to `count` copies.
  void repeat(const Group &group) {
    ++at;
    skip();
    size_t digits = at;
    int64_t count = 0;
    for (; at < source.size() && isDigit(source[at]); ++at)
      count = std::min<int64_t>(count * 10 + (source[at] - '0'), 10 * layoutLimit);
    if (at == digits)
      fail(at, "expected a count after '*', got " + gotHere());
    std::string spelled(source.substr(digits, at - digits));
    if (spelled.size() > 20)
      spelled = spelled.substr(0, 20) + "...";
    if (count == 0)
      fail(digits, "expected a count of at least 1, got " + spelled + "; to drop an item, leave it out");
    skip();
    if (at < source.size() && source[at] == '*')
      fail(at, "expected one multiplier, got a second one; multiply the counts, or put a group around the first");

    int64_t length = static_cast<int64_t>(buffer.size() - group.start), bars = stages - group.stages;
    grow(length - bars, symbols, count, group.column, spelled, "symbols");
    grow(bars, stages, count, group.column, spelled, "stages");
    for (int64_t i = 1; i < count; ++i)
      for (int64_t j = 0; j < length; ++j) {
        buffer.push_back(buffer[group.start + j]);
        columns.push_back(columns[group.start + j]);
      }
  }

  /// Adds (count - 1) * each to total, or refuses before anything is expanded.
  void grow(int64_t each, int64_t &total, int64_t count, size_t column, const std::string &spelled, const char *what) {
    int64_t grown = total + (count - 1) * each; // at most 1e6 + 1e7 * 1e6
    if (grown > layoutLimit)
      fail(column, "expected at most " + std::to_string(layoutLimit) + " " + what + ", got " + std::to_string(each) +
                       " here x " + spelled + " and " + std::to_string(total - each) + " before");
    total = grown;
  }

  void append(size_t column, char c) {
    int64_t &total = c == '|' ? stages : symbols;
    if (++total > layoutLimit)
      fail(column, "expected at most " + std::to_string(layoutLimit) + (c == '|' ? " stages" : " symbols"));
    buffer.push_back(c);
    columns.push_back(static_cast<int32_t>(column));
  }

  LayoutText split() {
    LayoutText text;
    text.source = source;
    text.stages.emplace_back();
    for (size_t i = 0; i < buffer.size(); ++i) {
      if (buffer[i] == '|') {
        text.stages.emplace_back();
        continue;
      }
      text.stages.back().push_back(buffer[i]);
      text.columns.push_back(columns[i]);
    }
    return text;
  }

  std::string_view source, place;
  size_t at = 0;
  std::string buffer;           ///< expanded so far, bars included
  std::vector<int32_t> columns; ///< of each byte of the buffer
  std::vector<Group> groups;    ///< open ones, outermost first
  int64_t symbols = 0;
  int64_t stages = 1; ///< stages so far: bars + 1
};

} // namespace

LayoutText parseLayout(std::string_view source, std::string_view place) {
  if (source.size() > 16 * static_cast<size_t>(layoutLimit))
    throw usage(std::string(place) + ": expected a layout of at most " + std::to_string(16 * layoutLimit) +
                " characters, got " + std::to_string(source.size()));
  return Parser(source, place).parse();
}

std::string caretLines(std::string_view source, size_t offset) {
  constexpr size_t before = 60, after = 40;
  size_t from = offset > before ? offset - before : 0;
  size_t to = std::min(source.size(), offset + after);
  std::string line = from ? "..." : "";
  size_t caret = line.size() + (offset - from);
  for (size_t i = from; i < to; ++i) {
    unsigned char c = source[i];
    line += isSpace(source[i]) ? ' ' : (c < 0x20 || c >= 0x7f ? '?' : source[i]);
  }
  if (to < source.size())
    line += "...";
  return "  " + line + "\n  " + std::string(caret, ' ') + "^";
}

} // namespace lf
