//===- trace_file.h - The measured timeline of a run, as a file -----------===//
//
// What --trace writes: Chrome's trace format, which chrome://tracing and Perfetto read, with the track and slice names
// of lf-compile's --plan-trace, so that the two can be laid over each other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

/// The events of one rank, a line each, each ending in ",\n": a process of the rank with two tracks, "pp0 passes" (one
/// slice an action: "F3", "B3", "W3" for passes of micro-batch 3, other actions by name; inside it one a layer) and
/// "pp0 messages" (one slice a communication: "send F3", "recv F3", "post F3" for a message between stages, of the pass on
/// this rank that sends or needs it). Passes and messages of stages have micro-batch, chunk and stage as arguments; the
/// pipeline has `pp_size` ranks. `log` is Trace::log(), `begin_ns` time 0, `end_ns` the end of the last
/// slice; both of the clock of TraceEntry.
std::string trace_events(const std::vector<TraceEntry> &log, int32_t rank, int32_t pp, int32_t pp_size, int64_t begin_ns,
                         int64_t end_ns);

/// The timeline of a run. All ranks take part in each call.
class TraceRecording {
public:
  /// Rank 0 looks whether `path` can be written, and opens it when it is a pipe or a device; a file that is there stays
  /// as it is until write(). Throws Failure 4 that names --trace when it cannot be written to, or is a pipe that nobody
  /// reads.
  TraceRecording(lf_rank &, const std::string &path);
  ~TraceRecording();
  TraceRecording(const TraceRecording &) = delete;
  TraceRecording &operator=(const TraceRecording &) = delete;

  /// From here on every operation is kept. Time 0 is when the last rank arrived.
  void start();
  /// Nothing more is kept.
  void stop();
  /// Gathers the events of all ranks, which rank 0 writes. Throws Failure 4 that names --trace.
  void write();

private:
  lf_rank &c_;
  std::string path_;
  int special_ = -1; ///< rank 0's pipe or device
  std::vector<TraceEntry> log_;
  int64_t end_ns_ = 0;
};

} // namespace lf::rt
