//===- Error.h - What a user did wrong, and the exit code that says so ----===//
//
// Everything in ::lf that can be refused throws lf::Error; tools catch it in main, print "error: <message>" (and each
// note on a line "note: ...") to stderr and exit with its code. Messages follow docs/errors.md: lower case, no final
// period, names in quotes, "expected X, got Y", the arithmetic shown, then how to mend it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace lf {

/// Exit codes of all tools (docs/errors.md).
enum class Exit : int { done = 0, notEqual = 1, usage = 2, doesNotFit = 3, data = 4, communication = 5, notFinite = 6, stopped = 75 };

class Error : public std::runtime_error {
public:
  Error(Exit code, const std::string &message, std::vector<std::string> notes = {})
      : std::runtime_error(message), code(code), notes(std::move(notes)) {}
  Exit code;
  std::vector<std::string> notes;
};

/// A refused configuration or command line (exit 2).
inline Error usage(const std::string &message, std::vector<std::string> notes = {}) {
  return Error(Exit::usage, message, std::move(notes));
}

} // namespace lf
