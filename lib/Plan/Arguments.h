//===- Arguments.h - From words on a command line to flags and values -------===//
//
// The normaliser: "--a-b" and "--a_b" are one flag, "--a=b" and "--a b" are one form, aliases become long names, the
// last of a repeated flag wins. Values are checked here, where the words of the user are still known.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Flags.h"

#include <map>
#include <string>
#include <vector>

namespace lf {

/// A flag that somebody gave, with its checked values (a toggle's is "true" or "false").
struct Given {
  const Flag *flag;
  std::vector<std::string> values;
  std::string origin; ///< for messages: `"--tp"` as typed, or `"plan.json": "/sizes/tp"`
  const std::string &value() const { return values.front(); }
};

using GivenFlags = std::map<std::string, Given>; ///< by long name

struct Arguments {
  GivenFlags flags;
  std::vector<std::string> positional;
};

/// Throws lf::Error (exit 2): unknown flag with the nearest known one, missing, superfluous or wrong value, a flag that
/// belongs elsewhere. The first mistake of the line is the error, each other one a note. `args` has no program name.
Arguments parseArguments(const std::vector<std::string> &args);

/// Throws what is wrong, all in one answer: the first as the error, the others as notes, each once. Nothing when
/// nothing is.
void refuseAll(const std::vector<std::string> &wrong);

/// Checks values (types, ranges, choices, not implemented yet) and makes a Given of them.
Given giveFlag(const Flag &, std::vector<std::string> values, const std::string &origin);

} // namespace lf
