//===- open_file.h - A regular file that is read at offsets ---------------===//
//
// pread: threads may share one file, and a file that somebody cuts off is a Failure, where a mapping would be a signal.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace lf::rt {

class OpenFile {
public:
  /// Throws Failure 4 that names the path (after `what`, for instance "--data-path") when it is missing, a folder, not
  /// a regular file or not readable.
  OpenFile(const std::string &what, const std::string &path);
  ~OpenFile();
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  const std::string what, path;
  int64_t size() const { return length; } ///< when it was opened
  int descriptor() const { return file; }

  /// Reads bytes that lie within size(). Throws Failure 4 when the file has become shorter, or cannot be read.
  void read(int64_t offset, void *bytes, int64_t count) const;

private:
  int file = -1;
  int64_t length = 0;
};

} // namespace lf::rt
