//===- text.cpp - Small pieces of messages --------------------------------===//
//
// See text.h.
//
//===----------------------------------------------------------------------===//
#include "text.h"

#include <algorithm>
#include <charconv>

namespace lf::rt {

std::string quote(const std::string &text) {
  static const char digits[] = "0123456789abcdef";
  std::string out = "\"";
  const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto c1 = [&](size_t i) { return at(i) == 0xc2 && at(i + 1) >= 0x80 && at(i + 1) < 0xa0; }; // U+0080 to U+009F
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const unsigned c = at(i);
    if (c == '"' || c == '\\')
      out += {'\\', letter};
    else if (c < 0x20 || c == 0x7f || c1(i) || (i > 0 && c1(i - 1)))
      out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    else
      out += letter;
  }
  return out + "\"";
}

std::string number(double value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return std::string(buffer, end);
}

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  size_t first = value < 0 ? 1 : 0;
  for (size_t i = digits.size(); i > first + 3;)
    digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string shape_text(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string name_list(const std::vector<std::string> &names, size_t limit) {
  std::string text;
  for (size_t i = 0; i < std::min(limit, names.size()); ++i)
    text += (i ? ", " : "") + quote(names[i]);
  if (names.size() > limit)
    text += " and " + std::to_string(names.size() - limit) + " more";
  return text;
}

static size_t edit_distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string &name, const std::vector<std::string> &known) {
  std::string best;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string &candidate : known)
    if (size_t distance = edit_distance(name, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

} // namespace lf::rt
