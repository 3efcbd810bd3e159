//===- Text.h - Words for messages -----------------------------------------===//
//
// Quoting, lists and the nearest known name. What users typed is shown escaped and shortened, so that a message stays
// one line whatever the input holds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lf {

/// "text" in double quotes; control characters, quotes and bytes outside ASCII that are no UTF-8 are escaped, and more
/// than 80 bytes are cut with "...".
std::string quote(const std::string &text);

/// `a, b, c`; with a last word: `a, b or c`.
std::string list(const std::vector<std::string> &, const std::string &last = "");
std::string list(const std::vector<int64_t> &, const std::string &last = "");

/// The candidate with the smallest edit distance to `word`, or one of which `word` is a beginning; empty when none is
/// near (more than a third of the letters differ).
std::string nearest(const std::string &word, const std::vector<std::string> &candidates);

/// The multiples of `step` (at least 1) just below and just above `value`, as `a or b`; only `b` when there is none
/// below.
std::string neighbours(int64_t value, int64_t step);

/// Divisors of n (at least 1), ascending.
std::vector<int64_t> divisors(int64_t n);

/// The shortest decimal that reads back as the same double: 0.1, 1e-06.
std::string number(double);

} // namespace lf
