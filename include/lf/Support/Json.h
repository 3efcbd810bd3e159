//===- Json.h - Strict reading of JSON files -------------------------------===//
//
// JSON of users: read whole, strictly, with the place of every mistake. A key given twice is refused, since parsers
// disagree about which one counts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lf {

using Json = nlohmann::ordered_json;

/// The whole text of a regular file or pipe of at most 64 MiB. Throws lf::Error (exit 2) that says `what` the file is
/// for: missing, a directory, unreadable, too large.
std::string readFile(const std::string &path, const std::string &what);

/// Throws lf::Error (exit 2) with line and column: syntax, invalid UTF-8, NaN, numbers that overflow, a key given twice
/// (by JSON pointer), text after the end.
Json parseJson(const std::string &text, const std::string &where);

/// A value as messages show it: `"yarn"`, 12, null, `an array of 3`, `an object`.
std::string show(const Json &);

/// `pointer/key`, with "~" and "/" of the key escaped as RFC 6901 says.
std::string pointerTo(const std::string &pointer, const std::string &key);

} // namespace lf
