//===- signals.cpp - SIGTERM and SIGUSR1: stop at the next step -----------===//
//
// See signals.h.
//
//===----------------------------------------------------------------------===//
#include "signals.h"

#include <atomic>
#include <unistd.h>

namespace lf::rt {
namespace {

std::atomic<int> wanted{0}; // the signal
static_assert(std::atomic<int>::is_always_lock_free, "read by all threads, written by a handler");

void note(int signal) {
  if (wanted)
    _exit(128 + signal);
  wanted = signal;
}

} // namespace

SignalWatch::SignalWatch() {
  before_ = wanted.exchange(0);
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &before_term_);
  sigaction(SIGUSR1, &action, &before_usr1_);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGTERM, &before_term_, nullptr);
  sigaction(SIGUSR1, &before_usr1_, nullptr);
  wanted = before_;
}

bool stop_wanted() { return wanted != 0; }

const char *stop_signal() { return wanted == SIGUSR1 ? "SIGUSR1" : "SIGTERM"; }

} // namespace lf::rt
