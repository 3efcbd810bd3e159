// rank.h - the state of one rank, shared by all parts of the runtime.
//
// Idea: one lf_rank is one training process, whether it is a thread (local) or a process (mpi, nccl); no part of the
// runtime keeps state anywhere else. Invariant: everything here is set up by train/ before the first step and freed
// after the last; a step only changes `step`, `at` and the contents of arenas.
#pragma once

#include "failure.h"
#include "lf/runtime.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lf::rt {

class Transport;    // comm/comm.h: how ranks reach one another
class Communicator; // comm/comm.h: one group of ranks
class Trace;        // trace.h: the ring of issued operations
class Traffic;      // comm/traffic.h: bytes sent, by communicator and kind
struct Options;     // train/options.h: the command line
class TokenSource;  // data/token_source.h
class DeviceMemory; // comm/device_memory.h

/// Numbers of the step under way. `loss`, `grad_norm` are valid after lf_finish_gradients.
struct StepState {
  int64_t step = 0;     ///< 0-based count of finished steps
  int64_t first = 0;    ///< `step` when this run began: above 0 after a resume
  int64_t consumed = 0; ///< samples before this step
  double lr = 0.0;
  double loss = 0.0, grad_norm = 0.0;
  double grad_scale = 1.0;            ///< clip factor / token count, applied by lf_adamw
  double loss_sum = 0.0, count = 0.0; ///< of this rank, by lf_add_loss
  double square_sum = 0.0;            ///< of the regions that count here
  double depth_loss_sum[LF_MAX_DEPTHS] = {}; ///< of this rank, by lf_add_depth_loss
  double depth_count[LF_MAX_DEPTHS] = {};
  std::vector<double> mtp_loss;       ///< of each depth of multi-token prediction; after lf_finish_gradients
  bool stop_asked = false;            ///< this rank asks the job to end after the next step, as a signal does
  bool stop = false;                  ///< some rank was told to stop; agreed by lf_finish_gradients
};

/// What is being run, for messages, traces and dropout's counter.
struct Where {
  const char *function = "start";
  int32_t layer = -1, micro_batch = -1;
};

} // namespace lf::rt

struct lf_rank {
  const lf_program *program = nullptr;
  int32_t rank = 0, world = 1;
  std::vector<int32_t> coordinates; ///< one for each mesh axis
  int32_t pp = 0;                   ///< pipeline coordinate

  const lf::rt::Options *options = nullptr;
  std::shared_ptr<lf::rt::Transport> transport;
  std::vector<std::unique_ptr<lf::rt::Communicator>> comms; ///< parallel to program->comms
  std::shared_ptr<lf::rt::Trace> trace;
  std::shared_ptr<lf::rt::Traffic> traffic;
  std::shared_ptr<lf::rt::TokenSource> tokens;

  void *arenas[7] = {}; ///< by lf_arena_kind
  int64_t arena_bytes[7] = {};
  std::shared_ptr<void> arena_owners[7];        ///< free the arenas
  lf_event next_event = 0;                      ///< events recorded so far
  std::shared_ptr<lf::rt::DeviceMemory> device; ///< streams and libraries; null when arrays are the host's

  uint64_t seed = 0;
  int32_t cpu_threads = 1;
  lf::rt::StepState step;
  lf::rt::Where at;
};
