// failure.h - why a job cannot go on.
#pragma once

#include <string>

namespace lf::rt {

/// Thrown when the job cannot go on; lf_main turns it into a message and the exit code. Messages follow docs/errors.md.
struct Failure {
  int code; ///< 2 usage, 3 does not fit, 4 data, 5 communication, 6 not finite, 75 stopped by a signal
  std::string message;
};

/// In a handler: the failure that its exception means. Code 3 for std::bad_alloc, 5 for any other that is no Failure.
Failure current_failure();

} // namespace lf::rt
