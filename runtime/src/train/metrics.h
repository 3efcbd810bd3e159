//===- metrics.h - What a run says about each step ------------------------===//
//
// The same numbers go to --metrics (one JSON object a step, flushed) and to the log (one line every --log-interval
// steps), both on rank 0 whatever the plan.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lf::rt {

/// One finished step.
struct StepReport {
  int64_t step = 0, steps = 0; ///< finished, of the whole run
  int64_t consumed = 0;        ///< samples, this step's included
  double loss = 0, grad_norm = 0, lr = 0, ms = 0;
  std::vector<double> mtp_loss{}; ///< by depth; empty without multi-token prediction
};

class Metrics {
public:
  /// All ranks make one together (it gathers the peak bytes). Rank 0 opens the file: appends when `resumed`, and drops
  /// the steps that are repeated when it `trains`; else starts it anew. Throws Failure 4 when it cannot, or when another run writes the file.
  Metrics(lf_rank &, bool resumed, bool trains);
  ~Metrics();
  Metrics(const Metrics &) = delete;
  Metrics &operator=(const Metrics &) = delete;

  /// The first line of the log: what runs where, and with which weights ("random, seed 1234").
  void start(int64_t steps, const std::string &weights);
  /// All ranks call it after each step.
  void report(const StepReport &);
  /// A step could not be written to --metrics. With --save the job was asked to end then.
  bool failed() const { return !failure_.empty(); }
  /// Throws Failure 4 when failed().
  void check() const;
  /// The last lines of the log, with where a device's memory went. All ranks call it.
  void summary(const StepReport &last, int64_t steps, double seconds);

private:
  void open_file();
  void write_line(const std::string &, int64_t step);
  std::string comm_bytes();
  void print_memory();
  lf_rank &c;
  std::vector<int64_t> peak_bytes; ///< of each rank, on rank 0
  int file = -1;                   ///< of rank 0
  bool silent_ = false;            ///< steps are not written any more
  std::string failure_;            ///< why, when that is a mistake
  double tokens_per_step;
};

} // namespace lf::rt
