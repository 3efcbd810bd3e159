// replay.h - a whole step as one CUDA graph.
//
// Idea: after a plain step in which the host decided nothing, the next one is captured while its host part runs, and
// later ones launch what was captured. What the host gives a step, its tokens, lies in pinned memory that the graph copies
// from: a replay writes it anew first. Invariant: a replay issues what a plain step would have, so the bits are the same.
#pragma once

#include "comm/traffic.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lf::rt {

class Replay {
public:
  enum class Mode {
    outside,  ///< of any step
    plain,    ///< a step whose work is issued as it comes; what stands against a capture is noted
    capturing,
    refilling ///< the host part of the batches runs again, to write what the graph copies
  };
  Replay() = default;
  Replay(const Replay &) = delete;
  Replay &operator=(const Replay &) = delete;
  ~Replay();

  Mode mode() const { return mode_; }
  /// Begins a plain step. `allowed`: capturing is wanted at all.
  void begin_plain(bool allowed);
  /// Ends it: the next step may be captured unless something stood against it.
  void end_plain();
  /// What the host has decided in this step depends on the step: it cannot be captured. Keeps the first reason.
  void host_decides(const char *why);
  /// "" or why steps are issued one by one.
  const std::string &reason() const { return reason_; }

  bool can_capture() const { return seen_ && reason_.empty() && !graph_; }
  bool captured() const { return graph_ != nullptr; }
  void begin_capture(cudaStream_t);
  /// Launches what was captured: the step whose host part has just run. Throws Failure 5 when CUDA refuses it.
  void end_capture(cudaStream_t);
  /// Runs the loads again, of the step that begins, and launches it.
  void launch(cudaStream_t);

  /// An upload of this step, in any mode but outside: true when it has been dealt with.
  bool upload(void *device, const void *host, int64_t bytes, cudaStream_t);
  /// Something that uploads and has to run again before each replay.
  void keep_load(std::function<void()> load);

  std::vector<Traffic::Row> traffic; ///< of the captured step, for the replays

private:
  Mode mode_ = Mode::outside;
  bool seen_ = false; ///< a plain step was watched to its end
  std::string reason_;
  int64_t uploaded_ = 0, size_ = 0, used_ = 0;
  char *host_ = nullptr;
  std::vector<std::function<void()>> loads_;
  cudaGraphExec_t graph_ = nullptr;
};

} // namespace lf::rt
