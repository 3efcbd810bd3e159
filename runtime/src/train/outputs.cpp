//===- outputs.cpp - Whether the files of a run can be written, and are its own ===//
//
// See outputs.h.
//
//===----------------------------------------------------------------------===//
#include "outputs.h"

#include "../rank.h"
#include "../text.h"
#include "files.h"
#include "options.h"

#include <filesystem>
#include <regex>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace lf::rt {

namespace fs = std::filesystem;

namespace {

/// One spelling of a path, whether it is there or not; empty when it cannot be one.
fs::path whole(const std::string &path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(place_of(path), failed); // else a relative path to nothing would stay relative
  return fs::weakly_canonical(absolute, failed);
}

/// Whether `path` is, or would be, a file of a checkpoint, of weights or of gradients in `folder`.
bool belongs_to(const std::string &folder, const std::string &path) {
  fs::path inside = whole(path).lexically_relative(whole(folder));
  if (inside.extension() == ".tmp") // what it is called until it is whole
    inside.replace_extension();
  if (inside.empty() || *inside.begin() == ".." || *inside.begin() == ".")
    return false;
  static const std::regex names(
      R"(latest_checkpointed_iteration\.txt|\.lf-lock|config\.json|model\.safetensors\.index\.json)"
      R"(|\.?iter_[0-9]+(\.tmp)?)");
  return std::regex_match(inside.begin()->string(), names) || inside.extension() == ".safetensors";
}

/// Another name of a file in the folder, or below it.
bool is_linked_in(const std::string &folder, const std::string &path) {
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code other;
    if (at->is_regular_file(other) && fs::equivalent(at->path(), path, other))
      return true;
  }
  return false;
}

/// A file that this run reads or writes otherwise, as what it is; empty when `path` is none.
std::string other_use(const Options &o, const std::string &path) {
  std::error_code ignored;
  for (const std::string &word : o.data_path) // a word may be a prefix of two files
    for (const char *suffix : {"", ".bin", ".idx"})
      if (fs::equivalent(path, word + suffix, ignored))
        return "the data of --data-path";
  for (const auto &[flag, folder] :
       {std::pair("--load", &o.load), std::pair("--save", &o.save), std::pair("--save-hf", &o.save_hf),
        std::pair("--dump-gradients", &o.dump_gradients)}) {
    if (folder->empty())
      continue;
    if (belongs_to(*folder, path))
      return "a name that the folder of " + std::string(flag) + " has for a file of its";
    if (fs::is_regular_file(path, ignored) && fs::hard_link_count(path, ignored) > 1 && is_linked_in(*folder, path))
      return "a file in the folder of " + std::string(flag);
  }
  struct stat log, here;
  for (int stream : {1, 2})
    if (fstat(stream, &log) == 0 && S_ISREG(log.st_mode) && stat(path.c_str(), &here) == 0 &&
        log.st_dev == here.st_dev && log.st_ino == here.st_ino)
      return "the file that the log goes to";
  return "";
}

/// A file that a run writes must be its own, under its name and the one that it has until it is whole.
void check_output_file(const Options &o, const char *flag, const std::string &path) {
  const std::string folder = fs::path(path).parent_path().string();
  check_writable(flag, folder.empty() ? "." : folder);
  const auto refuse = [&](const std::string &expected, const std::string &got) {
    throw Failure{4, std::string(flag) + ": " + quote(path) + ": expected " + expected + ", got " + got};
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    refuse("a file", "a directory");
  if (const std::string use = other_use(o, path); !use.empty())
    refuse("a file of its own", use);
  if (const std::string use = other_use(o, path + ".tmp"); !use.empty())
    refuse("a file of its own (written as " + quote(path + ".tmp") + " first)", use);
}

} // namespace

void check_outputs(const Options &o) {
  if (!o.save.empty())
    check_writable("--save", o.save);
  if (!o.save_hf.empty())
    check_writable("--save-hf", o.save_hf);
  if (!o.dump_gradients.empty())
    check_writable("--dump-gradients", o.dump_gradients);
  for (const auto &[flag, folder] :
       {std::pair("--save-hf", &o.save_hf), std::pair("--dump-gradients", &o.dump_gradients)})
    for (const auto &[other, checkpoints] : {std::pair("--save", &o.save), std::pair("--load", &o.load)})
      if (!folder->empty() && !checkpoints->empty() && belongs_to(*checkpoints, *folder))
        throw Failure{4, std::string(flag) + ": " + quote(*folder) +
                             ": expected a folder of its own, got one of a checkpoint of " + other};
  for (const auto &[flag, path] : {std::pair("--metrics", &o.metrics), std::pair("--trace", &o.trace)})
    if (!path->empty())
      check_output_file(o, flag, *path);
  std::error_code ignored;
  const bool both = !o.metrics.empty() && !o.trace.empty() && !fs::is_character_file(o.trace, ignored);
  bool named = false; // under its name, or the one that it has until it is whole
  for (const char *mine : {"", ".tmp"})
    for (const char *other : {"", ".tmp"})
      named |= both && whole(o.trace + mine) == whole(o.metrics + other) && !whole(o.trace).empty();
  if (named || (both && fs::equivalent(o.trace, o.metrics, ignored)))
    throw Failure{2, "--trace: " + quote(o.trace) + ": expected a file of its own, got the file of --metrics"};
}

} // namespace lf::rt
