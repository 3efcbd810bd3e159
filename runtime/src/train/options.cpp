//===- options.cpp - The command line of a training executable ------------===//
//
// A table of flags, each with its values, its help and the setter of one member of Options; checks that span several
// flags follow the table.
//
//===----------------------------------------------------------------------===//
#include "options.h"

#include "../rank.h"
#include "lf/flag_names.h"
#include "lf/foreign_flags.h"
#include "../text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace lf::rt {
namespace {

[[noreturn]] void refuse(const std::string &message) { throw Failure{2, message}; }

double real(const std::string &flag, const std::string &text, double least, double below) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range || (error == std::errc() && std::isinf(value)))
    refuse(flag + ": expected a number that fits a double, got " + quote(text));
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    refuse(flag + ": expected a number, got " + quote(text));
  if (value < least || value >= below)
    refuse(flag + ": expected a number of at least " + number(least) +
           (std::isinf(below) ? "" : " and below " + number(below)) + ", got " + quote(text));
  return value;
}

template <class Integer>
Integer integer(const std::string &flag, const std::string &text, Integer least,
                Integer most = std::numeric_limits<Integer>::max()) {
  Integer value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool above = error == std::errc::result_out_of_range || value > most;
  if (above || error != std::errc() || end != text.data() + text.size() || value < least)
    refuse(flag + ": expected an integer of at least " + std::to_string(least) +
           (above ? " and at most " + std::to_string(most) : "") + ", got " + quote(text));
  return value;
}

enum class Takes { nothing, one, several };

struct Flag {
  const char *name, *values, *help;
  Takes takes;
  std::function<void(Options &, const std::string &flag, const std::vector<std::string> &values)> set;
};

using Values = const std::vector<std::string> &;
constexpr double infinity = INFINITY;

Flag real_flag(const char *name, const char *help, double Options::*member, double least = 0, double below = infinity) {
  return {name, "X", help, Takes::one,
          [=](Options &o, const std::string &flag, Values v) { o.*member = real(flag, v[0], least, below); }};
}

template <class Member>
Flag integer_flag(const char *name, const char *help, Member Options::*member, int64_t least = 0,
                  int64_t most = INT64_MAX) {
  return {name, "N", help, Takes::one, [=](Options &o, const std::string &flag, Values v) {
            o.*member = static_cast<Member>(integer<int64_t>(flag, v[0], least, most));
          }};
}

Flag folder_flag(const char *name, const char *values, const char *help, std::string Options::*member) {
  return {name, values, help, Takes::one, [=](Options &o, const std::string &flag, Values v) {
            if (v[0].empty())
              refuse(flag + ": expected a path, got " + quote(""));
            o.*member = v[0];
          }};
}

template <class Enum>
Flag choice_flag(const char *name, const char *help, Enum Options::*member, std::map<std::string, Enum> choices) {
  return {name, "S", help, Takes::one, [=](Options &o, const std::string &flag, Values v) {
            auto found = choices.find(v[0]);
            if (found == choices.end()) {
              std::vector<std::string> names;
              for (auto &choice : choices)
                names.push_back(choice.first);
              refuse(flag + ": expected one of " + name_list(names) + ", got " + quote(v[0]));
            }
            o.*member = found->second;
          }};
}

Flag missing_flag(const char *name, const char *values) {
  return {name, values, nullptr, Takes::several,
          [](Options &, const std::string &flag, Values) { refuse(flag + " is not implemented yet; remove it"); }};
}

const std::vector<Flag> &flags() {
  using O = Options;
  static const std::vector<Flag> table = {
      {"--data-path", "PATH...", "token file (.bin), Megatron prefix, or a blend: weight prefix weight prefix",
       Takes::several, [](O &o, const std::string &, Values v) { o.data_path = v; }},
      {"--no-shuffle", "", "samples in the order of the file", Takes::nothing,
       [](O &o, const std::string &, Values) { o.shuffle = false; }},
      integer_flag("--train-iters", "steps of the whole run (default: one pass over the data)", &O::train_iters, 1),
      integer_flag("--train-samples", "samples of the whole run, instead of steps", &O::train_samples, 1),
      real_flag("--lr", "highest learning rate (3e-4)", &O::lr),
      real_flag("--min-lr", "lowest learning rate (0)", &O::min_lr),
      real_flag("--lr-warmup-init", "rate at the start of the warm-up (0)", &O::warmup_init),
      integer_flag("--lr-warmup-iters", "steps of linear warm-up (0)", &O::warmup_iters),
      integer_flag("--lr-warmup-samples", "the same in samples", &O::warmup_samples),
      {"--lr-warmup-fraction", "X", "the same as a share of the decay length", Takes::one,
       [](O &o, const std::string &flag, Values v) { o.warmup_fraction = real(flag, v[0], 0, 1); }},
      integer_flag("--lr-decay-iters", "steps until the lowest rate (the whole run)", &O::decay_iters, 1),
      integer_flag("--lr-decay-samples", "the same in samples", &O::decay_samples, 1),
      choice_flag<DecayStyle>("--lr-decay-style", "constant, linear (default), cosine, inverse-square-root or WSD",
                              &O::decay_style,
                              {{"constant", DecayStyle::constant},
                               {"linear", DecayStyle::linear},
                               {"cosine", DecayStyle::cosine},
                               {"inverse-square-root", DecayStyle::inverse_square_root},
                               {"WSD", DecayStyle::wsd}}),
      choice_flag<WsdStyle>("--lr-wsd-decay-style", "exponential (default), linear, cosine or minus_sqrt",
                            &O::wsd_style,
                            {{"exponential", WsdStyle::exponential},
                             {"linear", WsdStyle::linear},
                             {"cosine", WsdStyle::cosine},
                             {"minus_sqrt", WsdStyle::minus_sqrt}}),
      integer_flag("--lr-wsd-decay-iters", "last steps of the decay length, in which WSD decays", &O::wsd_iters, 1),
      integer_flag("--lr-wsd-decay-samples", "the same in samples", &O::wsd_samples, 1),
      real_flag("--weight-decay", "decoupled weight decay (0.01)", &O::weight_decay),
      real_flag("--adam-beta1", "(0.9)", &O::beta1, 0, 1),
      real_flag("--adam-beta2", "(0.999)", &O::beta2, 0, 1),
      real_flag("--adam-eps", "(1e-8)", &O::eps),
      real_flag("--clip-grad", "largest global gradient norm (1.0); 0: no clipping", &O::clip),
      {"--seed", "N", "of the initial weights, the data order and dropout (1234, or the checkpoint's)", Takes::one,
       [](O &o, const std::string &flag, Values v) { o.seed = integer<uint64_t>(flag, v[0], 0); }},
      integer_flag("--cpu-threads", "BLAS threads of a rank that is a process of its own (1)", &O::cpu_threads, 1,
                   1024),
      {"--distributed-timeout-minutes", "X", "longest wait for another rank (10)", Takes::one,
       [](O &o, const std::string &flag, Values v) {
         o.timeout_minutes = real(flag, v[0], 1e-6, 1e7); // a clock counts nanoseconds in 64 bits
         o.timeout_set = true;
       }},
      folder_flag("--load", "DIR", "Hugging Face safetensors folder, or a checkpoint of --save", &O::load),
      folder_flag("--save", "DIR", "checkpoints, at the end, every --save-interval steps and on a signal", &O::save),
      integer_flag("--save-interval", "steps between checkpoints", &O::save_interval, 1),
      folder_flag("--save-hf", "DIR", "weights and config.json as a Hugging Face folder, at the end", &O::save_hf),
      folder_flag("--dump-gradients", "DIR", "gradients of the first step, before clipping", &O::dump_gradients),
      integer_flag("--log-interval", "steps between lines of the log (10)", &O::log_interval, 1),
      folder_flag("--metrics", "FILE.jsonl", "one JSON object a step", &O::metrics),
      folder_flag("--trace", "FILE.json", "what each rank did when, for chrome://tracing or Perfetto", &O::trace),
      {"--describe", "", "print the plan and its memory, and stop", Takes::nothing,
       [](O &o, const std::string &, Values) { o.describe = true; }},
      {"--help", "", "print this text, and stop", Takes::nothing,
       [](O &o, const std::string &, Values) { o.help = true; }},
      missing_flag("--eval-iters", "N"),
      missing_flag("--eval-interval", "N"),
      missing_flag("--split", "A,B,C"),
  };
  return table;
}

/// "--Adam_beta1" keeps its letters; only the separator is normalised.
std::string normalise(std::string name) {
  std::replace(name.begin() + 2, name.end(), '_', '-');
  return name;
}

/// "-lr", which is none of ours, as opposed to "-1" and "-".
bool is_short(const std::string &word) {
  return word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1]));
}

/// A value may be negative, but a word that starts with "--" is the next flag.
bool is_flag(const std::string &word) { return word.rfind("--", 0) == 0 || is_short(word); }

/// `typed` is in no row of the table; `name` is its normalised spelling.
[[noreturn]] void refuse_unknown(const std::string &typed, const std::string &name) {
  if (std::find(std::begin(compile_flag_names), std::end(compile_flag_names), name.substr(2)) != std::end(compile_flag_names))
    refuse(quote(typed) + ": expected a flag of this executable, got one of lf-compile, since model and plan are fixed in the "
                          "executable; pass it to lf-compile and run what that writes (--describe prints the plan)");
  for_each_foreign_flag(Adviser::executable, [&](const std::string &foreign, const std::string &advice) {
    if (foreign == name.substr(2))
      refuse(quote(typed) +
             ": expected a flag of this executable, got one of Megatron without a counterpart: " + advice);
  });
  std::vector<std::string> known;
  for (const Flag &flag : flags())
    known.push_back(flag.name);
  std::string near = nearest(name, known);
  refuse("unknown flag " + quote(typed) +
         (near.empty() ? "; --help lists the known ones" : "; did you mean " + quote(near) + "?"));
}

void check_together(const Options &o) {
  if (o.min_lr > o.lr)
    refuse("--min-lr: expected at most --lr (" + number(o.lr) + "), got " + number(o.min_lr));
  if (o.warmup_init > o.lr)
    refuse("--lr-warmup-init: expected at most --lr (" + number(o.lr) + "), got " + number(o.warmup_init));
  if (o.train_iters && o.train_samples)
    refuse("--train-samples: expected one of --train-iters and --train-samples, got both");
  bool iters = o.warmup_iters || o.decay_iters || o.wsd_iters;
  bool samples = o.warmup_samples || o.decay_samples || o.wsd_samples;
  if (iters && (samples || o.train_samples))
    refuse("--lr-*-iters: expected lengths in steps or in samples, got both; use the --lr-*-samples flags with "
           "--train-samples");
  if (samples && o.train_iters)
    refuse("--lr-*-samples: expected lengths in steps, as --train-iters has, got samples; use the --lr-*-iters flags");
  if (o.warmup_fraction && (o.warmup_iters || o.warmup_samples))
    refuse("--lr-warmup-fraction: expected one length of the warm-up, got two");
  if (o.decay_style == DecayStyle::wsd && !o.wsd_iters && !o.wsd_samples)
    refuse("--lr-decay-style WSD: expected the length of the decay, got none; add --lr-wsd-decay-iters N");
  if (o.decay_style != DecayStyle::wsd && (o.wsd_iters || o.wsd_samples))
    refuse("--lr-wsd-decay-iters: expected --lr-decay-style WSD beside it, got another style");
  if (o.save_interval && o.save.empty())
    refuse("--save-interval: expected --save DIR beside it, got none");
  if (o.data_path.empty() && !o.help && !o.describe)
    refuse("--data-path: expected the training data, got none; add --data-path PATH");
}

} // namespace

/// One flag and its values, which begin at `i` and which it takes.
static void parse_flag(Options &options, const std::vector<std::string> &arguments, size_t &i) {
  std::string word = arguments[i++];
  if (word == "-h")
    word = "--help";
  if (!is_flag(word) || is_short(word) || word == "--")
    refuse("expected a flag, got " + quote(word) + "; flags start with \"--\" (--help lists them)");
  std::vector<std::string> values;
  size_t equals = word.find('=');
  if (equals != std::string::npos)
    values.push_back(word.substr(equals + 1));
  std::string name = normalise(word.substr(0, equals));
  auto found = std::find_if(flags().begin(), flags().end(), [&](const Flag &flag) { return flag.name == name; });
  if (found == flags().end()) {
    while (values.empty() && i < arguments.size() && !is_flag(arguments[i])) // its values
      ++i;
    refuse_unknown(word.substr(0, equals), name);
  }
  if (found->takes == Takes::nothing && !values.empty())
    refuse(name + ": expected no value, got " + quote(values[0]));
  if (found->takes == Takes::one && values.empty() && i < arguments.size() && !is_flag(arguments[i]))
    values.push_back(arguments[i++]);
  if (found->takes == Takes::several && values.empty())
    while (i < arguments.size() && !is_flag(arguments[i]))
      values.push_back(arguments[i++]);
  if (found->takes != Takes::nothing && values.empty() && found->help)
    refuse(name + ": expected a value (" + found->values + "), got none");
  found->set(options, name, values);
}

Options parse_options(const std::vector<std::string> &arguments) {
  Options options;
  std::vector<std::string> refusals;
  for (size_t i = 0; i < arguments.size();)
    try {
      parse_flag(options, arguments, i);
    } catch (const Failure &failure) {
      if (std::find(refusals.begin(), refusals.end(), failure.message) == refusals.end())
        refusals.push_back(failure.message);
    }
  if (refusals.empty()) {
    check_together(options);
    return options;
  }
  std::string all = refusals[0];
  for (size_t i = 1; i < refusals.size(); ++i)
    all += "\nnote: " + refusals[i];
  refuse(all);
}

std::vector<std::string> flag_names() {
  std::vector<std::string> names;
  for (const Flag &flag : flags())
    names.push_back(flag.name + 2);
  return names;
}

std::string help_text(const std::string &program_name) {
  std::string text = "usage: " + program_name + " --data-path PATH [flags]\n\n";
  for (const Flag &flag : flags()) {
    if (!flag.help)
      continue;
    std::string left = std::string("  ") + flag.name + (*flag.values ? " " : "") + flag.values;
    left.resize(std::max<size_t>(left.size() + 1, 40), ' ');
    text += left + flag.help + "\n";
  }
  return text + "\nExit codes: 0 done, 2 usage, 3 does not fit, 4 data or checkpoint, 5 communication, 6 loss is not "
                "finite, 75 saved and stopped by a signal.\n";
}

} // namespace lf::rt
