//===- json.h - JSON of files that come from elsewhere --------------------===//
//
// Read whole or refused: a key that comes twice would hide something, and what is nested without end has no end of
// calls that compare or print it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace lf::rt {

/// Says what was expected at a byte of the text and what was found; throws.
using Refuse = std::function<void(int64_t byte, const std::string &expected, const std::string &got)>;

/// Parses an object: each key once, nested at most 64 deep, numbers that fit.
nlohmann::json parse_object(const char *begin, const char *end, const Refuse &refuse);

} // namespace lf::rt
