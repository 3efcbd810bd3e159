//===- Flags.h - The table of every flag that lf-compile knows --------------===//
//
// One row a flag: its name in Megatron's spelling, the kind of its value, and where it stands. A flag is implemented,
// refused by name, or unknown; none is accepted without effect.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lf {

enum class Kind {
  toggle,  ///< no value; --flag=true and --flag=false work too
  integer, ///< at least Flag::least
  real,    ///< finite in float32, at least 0; a probability (metavar "P"): below 1
  word,    ///< one word, of Flag::choices when there are any
  words    ///< one or more words, up to the next flag
};

enum class Stand {
  plan,    ///< part of the plan: kept in ParallelPlan::options
  call,    ///< part of one call (files, what to emit)
  later,   ///< not implemented yet: only its neutral value passes
  model,   ///< the model file decides; a flag that says the same passes
  implied, ///< what happens anyway
  runtime, ///< belongs to the training executable; Flag::help, where there is one, says why it does not help there
           ///< either
  foreign  ///< known from Megatron (lf/foreign_flags.h), refused with the reason in Flag::help
};

struct Flag {
  std::string name; ///< long, with "-"
  Kind kind;
  Stand stand;
  std::string neutral;              ///< default (plan, call) or the value that asks for nothing (later); may be empty
  std::string group, metavar, help; ///< metavar of word and words
  std::vector<std::string> aliases = {};
  std::vector<std::string> choices = {};
  int64_t least = 1, most = (int64_t{1} << 31) - 1; ///< of an integer
};

const std::vector<Flag> &allFlags();

/// By name or alias, without dashes in front, "_" already turned into "-"; nullptr when unknown.
const Flag *findFlag(const std::string &name);

/// Of uneven splits: layers of the first stage, of the last; whether the embedding counts as a layer, the head.
extern const std::vector<const char *> unevenFlags;

/// The flag that stands in for one of Megatron's, when there is one; else empty.
std::string replacement(const Flag &);

/// All names and aliases, for suggestions; of Megatron's flags without a counterpart those that another stands in for.
std::vector<std::string> flagNames();

} // namespace lf
