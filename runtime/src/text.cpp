//===- text.cpp - Small pieces of messages --------------------------------===//
//
// See text.h.
//
//===----------------------------------------------------------------------===//
#include "text.h"

#include <algorithm>
#include <charconv>

namespace lf::rt {

/// Length of the UTF-8 sequence at text[i]; 0 when there is none, or one of a control character.
static size_t sequence(const std::string &text, size_t i) {
  const auto at = [&](size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
  const unsigned c = at(i);
  if (c < 0x80)
    return c >= 0x20 && c != 0x7f;
  const size_t length = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  for (size_t k = 1; k < length; ++k)
    if ((at(i + k) & 0xc0) != 0x80)
      return 0;
  return c == 0xc2 && at(i + 1) < 0xa0 ? 0 : length; // U+0080 to U+009F
}

std::string quote(const std::string &text) {
  static const char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = sequence(text, i);
    if (c == '"' || c == '\\')
      out += {'\\', text[i]};
    else if (length == 0)
      out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    else
      out.append(text, i, length);
    i += std::max<size_t>(length, 1);
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
