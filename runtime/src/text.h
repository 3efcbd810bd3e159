//===- text.h - Small pieces of messages ----------------------------------===//
//
// Quoting, numbers in full precision and lists that stop after a few items, so that every message reads alike.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

/// In double quotes; control characters, quotes, backslashes and what is no UTF-8 are escaped, so that what is quoted
/// cannot pass for more of the message, nor end it.
std::string quote(const std::string &text);

/// Shortest decimal that reads back as the same double.
std::string number(double value);

/// 1234567 -> "1,234,567"
std::string grouped(int64_t value);

/// "[2, 3]"
std::string shape_text(const std::vector<int64_t> &shape);

/// Quoted names, at most `limit`, then "and 12 more".
std::string name_list(const std::vector<std::string> &names, size_t limit = 8);

/// The known name at the smallest edit distance from `name`; empty when nothing is near (more than a third of it
/// differs).
std::string nearest(const std::string &name, const std::vector<std::string> &known);

} // namespace lf::rt
