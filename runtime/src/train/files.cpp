//===- files.cpp - Writing that is either whole or absent -----------------===//
//
// POSIX open, write, fsync, rename; see files.h.
//
//===----------------------------------------------------------------------===//
#include "files.h"

#include "../data/open_file.h"
#include "../rank.h"
#include "../signals.h"
#include "../text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

namespace lf::rt {

namespace fs = std::filesystem;

[[noreturn]] static void fail(const std::string &action, const std::string &path) {
  throw Failure{4, quote(path) + ": expected to " + action + ", got: " + std::strerror(errno)};
}

AtomicFile::AtomicFile(const std::string &path) : path(path), temporary(path + ".tmp") {
  descriptor =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666); // no wait for a pipe
  if (descriptor < 0)
    fail("create it", temporary);
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

void AtomicFile::write(const void *bytes, int64_t count) {
  const char *from = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t written = ::write(descriptor, from, static_cast<size_t>(std::min<int64_t>(count, int64_t(1) << 30)));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write to it", temporary);
    from += written;
    count -= written;
  }
}

void AtomicFile::publish() {
  if (fsync(descriptor) != 0)
    fail("bring it to the disk", temporary);
  close(descriptor);
  descriptor = -1;
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    int reason = errno;
    unlink(temporary.c_str());
    errno = reason;
    fail("rename " + quote(temporary) + " to it", path);
  }
  sync_folder(fs::path(path).parent_path().string());
}

bool write_whole(int descriptor, const void *bytes, size_t count, double seconds) {
  using Clock = std::chrono::steady_clock;
  auto moved = Clock::now();
  for (const char *from = static_cast<const char *>(bytes); count > 0;) {
    pollfd polled{descriptor, POLLOUT, 0};
    const int ready = ::poll(&polled, 1, 100);
    if (ready < 0 && errno != EINTR)
      return false;
    if (ready <= 0) { // nobody takes it now
      const double waited = std::chrono::duration<double>(Clock::now() - moved).count();
      if (waited < (stop_wanted() ? std::min(seconds, 3.0) : seconds))
        continue;
      errno = stop_wanted() ? EINTR : ETIMEDOUT;
      return false;
    }
    const ssize_t written = ::write(descriptor, from, count);
    if (written < 0 && errno != EINTR && errno != EAGAIN)
      return false;
    if (written <= 0)
      continue;
    moved = Clock::now();
    from += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

std::string place_of(const std::string &path) {
  std::error_code failed;
  fs::path place = path;
  for (int links = 0; links < 40 && fs::is_symlink(place, failed); ++links) {
    const fs::path target = fs::read_symlink(place, failed);
    if (failed)
      break;
    place = target.is_absolute() ? target : place.parent_path() / target;
  }
  return place.string();
}

void write_text(const std::string &path, const std::string &text) {
  AtomicFile file(path);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  file.publish();
}

std::string read_text(const std::string &what, const std::string &path) {
  OpenFile file(what, path); // refuses a pipe, for which a stream would wait
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), file.size());
  return text;
}

void make_folder(const std::string &what, const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code absent;
  if (!fs::is_directory(path, absent))
    throw Failure{4, what + ": " + quote(path) + ": expected a folder or a place for one, got: " +
                         (error ? error.message() : std::string("a file"))};
}

void check_writable(const std::string &what, const std::string &folder) {
  make_folder(what, folder);
  std::string probe = folder + "/.lf-probe-" + std::to_string(getpid());
  int descriptor = open(probe.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    throw Failure{4, what + ": " + quote(folder) +
                         ": expected a folder that can be written to, got: " + std::strerror(errno)};
  close(descriptor);
  unlink(probe.c_str());
}

bool lock_file(int descriptor, bool *taken) {
  if (taken)
    *taken = false;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR)
      return errno != EWOULDBLOCK;
  if (taken)
    *taken = true;
  return true;
}

FolderLock::FolderLock(const std::string &what, const std::string &folder) {
  const std::string path = folder + "/.lf-lock";
  descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); // some network file systems lock only what can be written
  if (descriptor < 0)
    throw Failure{4, what + ": " + quote(path) + ": expected a file that can be written to, got: " + std::strerror(errno)};
  char text[256] = {};
  if (!lock_file(descriptor, &alone_)) {
    ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
    std::string holder(text, static_cast<size_t>(std::max<ssize_t>(length, 0)));
    if (std::any_of(holder.begin(), holder.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      holder.clear(); // not written by a run
    close(descriptor);
    throw Failure{4, what + ": " + quote(folder) + ": expected a folder that no other run saves to, got that of " +
                         (holder.empty() ? "a run" : holder) + "; wait for its end, or name another folder"};
  }
  gethostname(text, sizeof text - 1);
  const std::string holder = "process " + std::to_string(getpid()) + " on " + quote(text);
  if (ftruncate(descriptor, 0) == 0) // what it says only helps a message: a full disk is found by the checkpoint
    (void)!pwrite(descriptor, holder.data(), holder.size(), 0);
}

FolderLock::~FolderLock() { close(descriptor); }

void sync_folder(const std::string &path) {
  int descriptor = open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    fail("open the folder", path);
  int result = fsync(descriptor);
  int reason = errno;
  close(descriptor);
  if (result != 0 && reason != EINVAL && reason != EROFS) // some file systems have no fsync of folders
    fail("bring the folder to the disk", path);
}

void publish_folder(const std::string &from, const std::string &to) {
  sync_folder(from);
  std::error_code ignored;
  if (fs::exists(to, ignored)) {
    if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
      if (errno != EINVAL && errno != ENOSYS)
        fail("replace it by " + quote(from), to);
      std::string old = to + ".old"; // no exchange on this file system: two renames
      fs::remove_all(old, ignored);
      if (std::rename(to.c_str(), old.c_str()) != 0)
        fail("rename it to " + quote(old), to);
      if (std::rename(from.c_str(), to.c_str()) != 0) {
        const int reason = errno;
        std::rename(old.c_str(), to.c_str()); // the old one is better than none
        errno = reason;
        fail("replace it by " + quote(from), to);
      }
      fs::remove_all(old, ignored);
    }
    fs::remove_all(from, ignored);
  } else if (std::rename(from.c_str(), to.c_str()) != 0) {
    fail("rename " + quote(from) + " to it", to);
  }
  sync_folder(fs::path(to).parent_path().string());
}

} // namespace lf::rt
