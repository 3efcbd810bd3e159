//===- mapped_file.cpp - A whole file as read-only memory -----------------===//
//
// POSIX open, fstat, mmap; the descriptor is closed at once since the mapping keeps the file.
//
//===----------------------------------------------------------------------===//
#include "mapped_file.h"

#include "../rank.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lf::rt {

MappedFile::MappedFile(const std::string &what, const std::string &path) : path(path) {
  std::string where = what + ": \"" + path + "\": ";
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not hold us
  if (descriptor < 0)
    throw Failure{4, where + "expected a readable file, got: " + std::strerror(errno)};
  struct stat status;
  std::string problem;
  if (fstat(descriptor, &status) != 0)
    problem = std::strerror(errno);
  else if (S_ISDIR(status.st_mode))
    problem = "a directory";
  else if (!S_ISREG(status.st_mode))
    problem = "a special file";
  else if ((length = status.st_size) > 0) {
    void *mapping = mmap(nullptr, static_cast<size_t>(length), PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapping == MAP_FAILED)
      problem = std::strerror(errno);
    else
      data = static_cast<const unsigned char *>(mapping);
  }
  close(descriptor);
  if (!problem.empty())
    throw Failure{4, where + "expected a regular file, got " + problem};
}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<unsigned char *>(data), static_cast<size_t>(length));
}

} // namespace lf::rt
