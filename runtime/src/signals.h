//===- signals.h - SIGTERM and SIGUSR1: stop at the next step -------------===//
//
// A handler only notes the wish; ranks agree on it in the step's one sum over the world. A second signal ends the
// process at once.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <csignal>

namespace lf::rt {

/// Handlers live as long as this object; the ones before are put back.
class SignalWatch {
public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch &) = delete;
  SignalWatch &operator=(const SignalWatch &) = delete;

private:
  struct sigaction before_term_ = {}, before_usr1_ = {};
  int before_ = 0; ///< what an outer watch has seen
};

/// True once a signal came (in this process, under the present SignalWatch).
bool stop_wanted();
/// Its name, once stop_wanted().
const char *stop_signal();

} // namespace lf::rt
