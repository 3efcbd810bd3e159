//===- open_file.cpp - A regular file that is read at offsets -------------===//
//
// POSIX open, fstat, pread.
//
//===----------------------------------------------------------------------===//
#include "open_file.h"

#include "../rank.h"
#include "../text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lf::rt {

OpenFile::OpenFile(const std::string &what, const std::string &path) : what(what), path(path) {
  std::string where = what + ": " + quote(path) + ": ";
  file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not hold us
  if (file < 0)
    throw Failure{4, where + "expected a readable file, got: " + std::strerror(errno) +
                         (errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "")};
  struct stat status;
  std::string problem;
  if (fstat(file, &status) != 0)
    problem = std::strerror(errno);
  else if (S_ISDIR(status.st_mode))
    problem = "a directory";
  else if (!S_ISREG(status.st_mode))
    problem = "a special file";
  if (!problem.empty()) {
    close(file);
    throw Failure{4, where + "expected a regular file, got " + problem};
  }
  length = status.st_size;
}

OpenFile::~OpenFile() { close(file); }

void OpenFile::read(int64_t offset, void *bytes, int64_t count) const {
  char *to = static_cast<char *>(bytes);
  while (count > 0) {
    ssize_t got = pread(file, to, static_cast<size_t>(std::min<int64_t>(count, int64_t(1) << 30)), offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw Failure{4, what + ": " + quote(path) + ", byte " + std::to_string(offset) +
                           ": expected a file that can be read, got: " + std::strerror(errno)};
    if (got == 0)
      throw Failure{4, what + ": " + quote(path) + ": expected the " + std::to_string(length) +
                           " bytes that it had when it was opened, got its end at byte " + std::to_string(offset) +
                           "; it was cut off while it was in use: restore it and start again"};
    to += got;
    offset += got;
    count -= got;
  }
}

} // namespace lf::rt
