//===- Arguments.cpp - From words on a command line to flags and values -----===//
//
// See Arguments.h.
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace lf {

template <typename T> static bool reads(const std::string &text, T &value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

static bool sameValue(const std::string &a, const std::string &b) {
  double x = 0, y = 0;
  return a == b || (reads(a, x) && reads(b, y) && x == y);
}

static std::string quotedList(const std::vector<std::string> &words) {
  std::vector<std::string> out;
  for (const std::string &w : words)
    out.push_back(quote(w));
  return list(out, "or");
}

static void check(const Flag &flag, std::string &value, const std::string &origin) {
  auto expected = [&](const std::string &what) {
    return usage(origin + ": expected " + what + ", got " + quote(value));
  };
  int64_t integer = 0;
  double real = 0;
  switch (flag.kind) {
  case Kind::toggle:
    if (value != "true" && value != "false")
      throw expected("no value (or \"true\" or \"false\")");
    break;
  case Kind::integer: {
    if (!reads(value, integer) || integer < flag.least || integer > flag.most)
      throw expected("an integer from " + std::to_string(flag.least) + " to " + std::to_string(flag.most));
    value = std::to_string(integer);
    break;
  }
  case Kind::real:
    if (!reads(value, real) ||
        !(real >= 0 && (flag.metavar == "P" ? real < 1 : real <= std::numeric_limits<float>::max())))
      throw expected(flag.metavar == "P" ? "a number of at least 0 and below 1"
                                         : "a number from 0 to 3.4e38, the largest of float32");
    value = number(std::abs(real)); // -0 is 0
    break;
  case Kind::word:
  case Kind::words:
    if (value.empty())
      throw expected("a value");
    if (!flag.choices.empty() && std::find(flag.choices.begin(), flag.choices.end(), value) == flag.choices.end())
      throw expected(quotedList(flag.choices));
    break;
  }
}

/// What to do with flags of the executable, one or more.
static std::string forExecutable(const std::vector<Given> &flags) {
  std::vector<std::string> typed;
  for (const Given &g : flags)
    typed.push_back(g.origin);
  const bool one = flags.size() == 1;
  return list(typed, "and") + ": expected " + (one ? "a flag" : "flags") + " of lf-compile, got " +
         (one ? "one" : "those") + " of the training executable; pass " + (one ? "it" : "them") +
         " to the program that lf-compile writes (./train --" + flags.front().flag->name + " ...)";
}

Given giveFlag(const Flag &flag, std::vector<std::string> values, const std::string &origin) {
  switch (flag.stand) {
  case Stand::runtime:
    throw usage(flag.help.empty() ? forExecutable({{&flag, {}, origin}}) : origin + ": " + flag.help);
  case Stand::foreign:
    throw usage(origin + ": expected a flag of lf-compile, got one of Megatron without a counterpart: " + flag.help);
  default:
    break;
  }
  if (values.empty())
    throw usage(origin + ": expected a value, got none");
  for (std::string &value : values)
    check(flag, value, origin);
  if (flag.stand == Stand::later &&
      !(!flag.neutral.empty() && values.size() == 1 && sameValue(values.front(), flag.neutral))) {
    if (flag.kind == Kind::toggle || flag.neutral.empty())
      throw usage(origin + " is not implemented yet; remove it");
    throw usage(origin + " is not implemented yet: expected " + quote(flag.neutral) + ", got " + quotedList(values));
  }
  return {&flag, std::move(values), origin};
}

/// A word that starts a flag, as opposed to a value such as "-1" or "-".
static bool isFlag(const std::string &word) {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
}

static Error unknown(const std::string &typed, const std::string &name) {
  std::string near = nearest(name, flagNames());
  if (const Flag *flag = findFlag(near); flag && !replacement(*flag).empty())
    near = replacement(*flag);
  return usage("unknown option " + quote(typed) +
               (near.empty() ? "; --help lists the known ones"
                             : ", did you mean \"" + std::string(near.size() == 1 ? "-" : "--") + near + "\"?"));
}

/// -1 asks Megatron's wrappers to derive a degree. Only dp is ever derived here.
static void refuseDerived(const std::vector<std::string> &args) {
  static const std::vector<std::string> degrees = {"tensor-model-parallel-size",  "pipeline-model-parallel-size",
                                                   "context-parallel-size",       "expert-model-parallel-size",
                                                   "expert-tensor-parallel-size", "data-parallel-size"};
  std::vector<std::string> asked;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string name = args[i].substr(0, args[i].find('=')), value;
    if (!isFlag(name))
      continue;
    value = name.size() < args[i].size() ? args[i].substr(name.size() + 1) : i + 1 < args.size() ? args[i + 1] : "";
    name = name.substr(name.find_first_not_of('-') == std::string::npos ? name.size() : name.find_first_not_of('-'));
    std::replace(name.begin(), name.end(), '_', '-');
    const Flag *flag = findFlag(name);
    if (flag && value == "-1" && std::find(degrees.begin(), degrees.end(), flag->name) != degrees.end())
      asked.push_back("\"--" + name + "\" -1");
  }
  if (!asked.empty())
    throw usage("expected every degree to be stated, since only one (dp) is derived, got " + list(asked, "and") +
                "; for example --world-size 16 --tp 2 --pp 2 gives dp 4");
}

void refuseAll(const std::vector<std::string> &wrong) {
  std::vector<std::string> notes;
  for (const std::string &text : wrong)
    if (text != wrong.front() && std::find(notes.begin(), notes.end(), text) == notes.end())
      notes.push_back(text);
  if (!wrong.empty())
    throw usage(wrong.front(), notes);
}

Arguments parseArguments(const std::vector<std::string> &args) {
  refuseDerived(args);
  Arguments out;
  std::vector<std::string> wrong;
  std::vector<Given> elsewhere; // flags of the executable, each once
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string &word = args[i];
    if (word == "--") {
      out.positional.insert(out.positional.end(), args.begin() + static_cast<ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (!isFlag(word)) {
      out.positional.push_back(word);
      continue;
    }
    size_t equals = word.find('=');
    const std::string typed = word.substr(0, equals);
    std::string name = typed.substr(word[1] == '-' ? 2 : 1);
    std::replace(name.begin(), name.end(), '_', '-');
    const Flag *flag = findFlag(name);
    // One dash goes with one letter, two dashes with more.
    if (!flag || (word[1] == '-') != (name.size() > 1)) {
      wrong.push_back(unknown(typed, name).what());
      while (equals == std::string::npos && i + 1 < args.size() && !isFlag(args[i + 1]))
        ++i; // what may be its values, whose number is not known
      continue;
    }
    std::vector<std::string> values;
    if (equals != std::string::npos)
      values.push_back(word.substr(equals + 1));
    else if (flag->kind == Kind::toggle)
      values.push_back("true");
    else
      while (i + 1 < args.size() && !isFlag(args[i + 1]) && (flag->kind == Kind::words || values.empty()))
        values.push_back(args[++i]);
    if (flag->stand == Stand::runtime && flag->help.empty()) {
      if (std::none_of(elsewhere.begin(), elsewhere.end(), [&](const Given &g) { return g.flag == flag; }))
        elsewhere.push_back({flag, std::move(values), quote(typed)});
      continue;
    }
    try {
      if (values.empty() && flag->stand != Stand::runtime && flag->stand != Stand::foreign)
        throw usage(quote(typed) + ": expected a value, got " +
                    (i + 1 < args.size() ? "the flag " + quote(args[i + 1]) : "the end of the command line"));
      out.flags.insert_or_assign(flag->name, giveFlag(*flag, std::move(values), quote(typed)));
    } catch (const Error &error) {
      wrong.push_back(error.what());
    }
  }
  if (!elsewhere.empty())
    wrong.push_back(forExecutable(elsewhere));
  refuseAll(wrong);
  return out;
}

} // namespace lf
