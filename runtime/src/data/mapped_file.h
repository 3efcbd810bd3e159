//===- mapped_file.h - A whole file as read-only memory -------------------===//
//
// Weights are read in place, with 64-bit offsets and without a copy; pages are shared among the ranks of one host. A file
// that is cut off while it is mapped ends the process by a signal: what is read during a run is an OpenFile.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace lf::rt {

class MappedFile {
public:
  /// Throws Failure 4 that names the path (after `what`, for instance "--data-path") when it is missing, a folder, not
  /// a regular file or not readable. An empty file has size 0 and no bytes.
  MappedFile(const std::string &what, const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string path;
  const unsigned char *bytes() const { return data; }
  int64_t size() const { return length; }

private:
  const unsigned char *data = nullptr;
  int64_t length = 0;
};

} // namespace lf::rt
