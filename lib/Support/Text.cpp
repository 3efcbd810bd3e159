//===- Text.cpp - Words for messages ---------------------------------------===//
//
// See Text.h. Edit distance is Levenshtein's, one row at a time.
//
//===----------------------------------------------------------------------===//
#include "lf/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace lf {

/// Length of the UTF-8 sequence at s[i], 0 when there is none that is well formed.
static size_t sequence(const std::string &s, size_t i) {
  unsigned char c = s[i];
  size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (n == 0 || i + n > s.size())
    return 0;
  for (size_t k = 1; k < n; ++k)
    if ((static_cast<unsigned char>(s[i + k]) & 0xC0) != 0x80)
      return 0;
  if (c == 0xC2 && static_cast<unsigned char>(s[i + 1]) < 0xA0) // U+0080 to U+009F are control characters
    return 0;
  return n;
}

std::string quote(const std::string &text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    if (i >= 80) {
      out += "...";
      break;
    }
    unsigned char c = text[i];
    size_t n = sequence(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
      n = 1;
    } else if (n == 0 || c < 0x20 || c == 0x7F) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", c);
      out += hex;
      n = 1;
    } else {
      out.append(text, i, n);
    }
    i += n;
  }
  return out + "\"";
}

std::string list(const std::vector<std::string> &words, const std::string &last) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0)
      out += i + 1 == words.size() && !last.empty() ? " " + last + " " : ", ";
    out += words[i];
  }
  return out;
}

std::string list(const std::vector<int64_t> &numbers, const std::string &last) {
  std::vector<std::string> words;
  for (int64_t n : numbers)
    words.push_back(std::to_string(n));
  return list(words, last);
}

static size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
  if (word.size() > 200) // no name is that long
    return "";
  std::string best;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &c : candidates) {
    size_t d = distance(word, c);
    if (d < bestDistance)
      best = c, bestDistance = d;
  }
  if (best.empty() && word.size() >= 4)
    for (const std::string &c : candidates)
      if (c.starts_with(word))
        return c;
  return best;
}

std::string neighbours(int64_t value, int64_t step) {
  int64_t below = value / step * step;
  return below > 0 ? list(std::vector<int64_t>{below, below + step}, "or") : std::to_string(step);
}

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> small, large;
  for (int64_t d = 1; d <= n / d; ++d)
    if (n % d == 0) {
      small.push_back(d);
      if (d != n / d)
        large.push_back(n / d);
    }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

std::string number(double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

} // namespace lf
