//===- files.h - Writing that is either whole or absent -------------------===//
//
// Every output is written under a temporary name, brought to the disk, then renamed; a reader never sees half of one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lf::rt {

/// One file under way. Errors throw Failure 4 with the path and the system's reason.
class AtomicFile {
public:
  /// Opens `path` + ".tmp" for writing.
  explicit AtomicFile(const std::string &path);
  ~AtomicFile(); ///< removes the temporary file when it was not published
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *bytes, int64_t count);
  /// fsync, rename to `path`, fsync of the folder.
  void publish();

private:
  std::string path, temporary;
  int descriptor = -1;
};

/// Writes all of it to an open descriptor, whether that blocks or not. False, and errno, when that fails; ETIMEDOUT
/// when nobody takes any of it for so many seconds; EINTR for three seconds when a signal to stop has come.
bool write_whole(int descriptor, const void *bytes, size_t count, double seconds);

/// What is at the end of the links that `path` may be, whether it is there or not: the name that a new file is to have.
std::string place_of(const std::string &path);

/// Writes a small text file so.
void write_text(const std::string &path, const std::string &text);
/// The whole of a small file. Throws Failure 4 when it cannot be read.
std::string read_text(const std::string &what, const std::string &path);

/// Creates a folder and its parents. Throws Failure 4 that starts with `what` when that is impossible.
void make_folder(const std::string &what, const std::string &path);
/// make_folder, then proves that a file can be created in it.
void check_writable(const std::string &what, const std::string &folder);
/// Keeps an open file from other runs until it is closed. False when another run has it; a file system without locks
/// lets everyone in, but does not say `taken`.
bool lock_file(int descriptor, bool *taken = nullptr);

/// Keeps a folder from other runs that ask for it so, by a lock on the file ".lf-lock" in it; the system lets go of it when
/// the process ends, however it does.
class FolderLock {
public:
  /// Throws Failure 4 that starts with `what` when another run has the folder; it names that run's host and process.
  FolderLock(const std::string &what, const std::string &folder);
  ~FolderLock();
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;

  /// False where the file system has no locks: another run may save to the folder, too.
  bool alone() const { return alone_; }

private:
  int descriptor = -1;
  bool alone_ = false;
};

/// Brings a folder's entries to the disk.
void sync_folder(const std::string &path);
/// Puts the folder `from` at `to`; one that is already there is replaced in one step, and removed.
void publish_folder(const std::string &from, const std::string &to);

} // namespace lf::rt
