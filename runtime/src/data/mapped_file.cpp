//===- mapped_file.cpp - A whole file as read-only memory -----------------===//
//
// POSIX mmap; the descriptor is closed at once since the mapping keeps the file.
//
//===----------------------------------------------------------------------===//
#include "mapped_file.h"

#include "../rank.h"
#include "open_file.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace lf::rt {

MappedFile::MappedFile(const std::string &what, const std::string &path) : path(path) {
  OpenFile file(what, path);
  length = file.size();
  if (length == 0)
    return;
  void *mapping = mmap(nullptr, static_cast<size_t>(length), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (mapping == MAP_FAILED)
    throw Failure{4, what + ": \"" + path + "\": expected a regular file, got " + std::strerror(errno)};
  data = static_cast<const unsigned char *>(mapping);
}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<unsigned char *>(data), static_cast<size_t>(length));
}

} // namespace lf::rt
