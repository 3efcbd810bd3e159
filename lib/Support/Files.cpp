//===- Files.cpp - Output files: whole, or as they were ---------------------===//
//
// POSIX open, write, close, rename; every result is looked at, since some disks say that they are full as late as close.
//
//===----------------------------------------------------------------------===//
#include "lf/Support/Files.h"
#include "lf/Support/Error.h"
#include "lf/Support/Text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace lf {

/// Where the links lead.
static std::string followed(const std::string &path) {
  std::error_code ignored;
  fs::path file = path;
  for (int links = 0; links < 40 && fs::is_symlink(file, ignored); ++links)
    file = file.parent_path() / fs::read_symlink(file, ignored); // an absolute link replaces the folder
  return file.string();
}

/// 0, or the system's reason.
static int writeAll(int descriptor, const std::string &text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR)
      return errno;
    at += written < 0 ? 0 : static_cast<size_t>(written);
  }
  return 0;
}

static int put(const std::string &path, const std::string &text, int flags, mode_t mode) {
  int descriptor = open(path.c_str(), flags | O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (descriptor < 0)
    return errno;
  int reason = writeAll(descriptor, text);
  if (close(descriptor) != 0 && reason == 0)
    reason = errno;
  return reason;
}

static int replace(const std::string &path, const std::string &text, bool executable) {
  const std::string file = followed(path), fresh = file + "." + std::to_string(getpid()) + ".new";
  int reason = put(fresh, text, O_NOFOLLOW, executable ? 0777 : 0666);
  struct stat old;
  if (reason == 0 && !executable && stat(file.c_str(), &old) == 0 && chmod(fresh.c_str(), old.st_mode & 07777) != 0)
    reason = errno;
  if (reason == 0 && std::rename(fresh.c_str(), file.c_str()) != 0)
    reason = errno;
  if (reason != 0)
    unlink(fresh.c_str());
  return reason;
}

void writeFile(const std::string &path, const std::string &text, const std::string &flag, bool executable) {
  struct stat status;
  const bool there = stat(path.c_str(), &status) == 0;
  const bool inPlace =
      (there && !S_ISREG(status.st_mode)) || path.starts_with("/dev/") || path.starts_with("/proc/");
  const int reason = inPlace ? put(path, text, 0, 0666) : replace(path, text, executable);
  if (reason != 0)
    throw usage(quote(flag) + ": expected a file that can be written, got " + quote(path) + ": " + std::strerror(reason) +
                (reason == ENOSPC || reason == EDQUOT ? "; free space there, or name a file on another disk" : ""));
}

} // namespace lf
