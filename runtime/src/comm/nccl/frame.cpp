// frame.cpp - see frame.h.
#include "comm/nccl/frame.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace lf::rt::nccl {
namespace {

constexpr uint32_t magic = 0x6c664e31; // "lfN1"
constexpr uint32_t longest = 1 << 20;

struct Head {
  uint32_t magic, kind;
  int32_t rank, code;
  uint32_t key, value;
};

bool send_all(int socket, const void *data, size_t bytes) {
  for (const char *p = static_cast<const char *>(data); bytes > 0;) {
    ssize_t n = send(socket, p, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool receive_all(int socket, void *data, size_t bytes) {
  for (char *p = static_cast<char *>(data); bytes > 0;) {
    ssize_t n = recv(socket, p, bytes, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool sound(const Head &head) { return head.magic == magic && head.key <= longest && head.value <= longest; }

Frame begin(const Head &head) { return {static_cast<FrameKind>(head.kind), head.rank, head.code, "", ""}; }

} // namespace

bool send_frame(int socket, const Frame &frame) {
  Head head{magic,      static_cast<uint32_t>(frame.kind),       frame.rank,
            frame.code, static_cast<uint32_t>(frame.key.size()), static_cast<uint32_t>(frame.value.size())};
  std::string bytes(reinterpret_cast<const char *>(&head), sizeof head);
  bytes += frame.key + frame.value;
  return send_all(socket, bytes.data(), bytes.size());
}

bool receive_frame(int socket, Frame &frame) {
  Head head{};
  if (!receive_all(socket, &head, sizeof head) || !sound(head))
    return false;
  frame = begin(head);
  frame.key.resize(head.key);
  frame.value.resize(head.value);
  return receive_all(socket, frame.key.data(), head.key) && receive_all(socket, frame.value.data(), head.value);
}

int take_frame(std::string &received, Frame &frame) {
  Head head{};
  if (received.size() < sizeof head)
    return 0;
  std::memcpy(&head, received.data(), sizeof head);
  if (!sound(head))
    return -1;
  const size_t length = sizeof head + head.key + head.value;
  if (received.size() < length)
    return 0;
  frame = begin(head);
  frame.key = received.substr(sizeof head, head.key);
  frame.value = received.substr(sizeof head + head.key, head.value);
  received.erase(0, length);
  return 1;
}

} // namespace lf::rt::nccl
