//===- options.h - The command line of a training executable --------------===//
//
// One struct holds every option that the executable takes (docs/running.md); parse_options is the only way to fill it.
// Names are normalised first: "-" and "_" are alike, --flag=value equals --flag value, the last one wins.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lf::rt {

enum class DecayStyle { constant, linear, cosine, inverse_square_root, wsd };
enum class WsdStyle { exponential, linear, cosine, minus_sqrt };

struct Options {
  // What to do
  bool help = false, describe = false;

  // Data
  std::vector<std::string> data_path;
  bool shuffle = true;

  // Length, in steps or in samples; neither: one pass over the data
  std::optional<int64_t> train_iters, train_samples;

  // Learning rate; lengths in steps or in samples, never both families
  double lr = 3e-4, min_lr = 0.0, warmup_init = 0.0;
  std::optional<int64_t> warmup_iters, warmup_samples, decay_iters, decay_samples, wsd_iters, wsd_samples;
  std::optional<double> warmup_fraction; ///< of the decay length
  DecayStyle decay_style = DecayStyle::linear;
  WsdStyle wsd_style = WsdStyle::exponential;

  // AdamW and clipping
  double weight_decay = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double clip = 1.0; ///< 0: off

  std::optional<uint64_t> seed; ///< unset: the checkpoint's, else default_seed
  int32_t cpu_threads = 1;
  double timeout_minutes = 10.0; ///< of a collective or a receive
  bool timeout_set = false;      ///< the flag was given (it wins over LF_TIMEOUT_SECONDS)

  // Files
  std::string load, save, save_hf, dump_gradients, metrics, trace;
  int64_t save_interval = 0; ///< 0: at the end and on a signal only
  int64_t log_interval = 10;
};

inline constexpr uint64_t default_seed = 1234;

/// Parses the arguments after the program's name. Throws Failure 2 that names each flag that cannot be used, the first
/// as the error and the others as notes: one of lf-compile, one of Megatron (with what to do instead), unknown (with
/// the nearest known name), without its value, out of range, in conflict with another, or not implemented.
Options parse_options(const std::vector<std::string> &arguments);

/// Every flag, without dashes: run_flag_names of lf/flag_names.h and "help".
std::vector<std::string> flag_names();

/// The text of --help.
std::string help_text(const std::string &program_name);

} // namespace lf::rt
