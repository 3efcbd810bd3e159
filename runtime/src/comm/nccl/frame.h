// frame.h - messages over a TCP connection: a head of fixed size, a key, a value.
#pragma once

#include <cstdint>
#include <string>

namespace lf::rt::nccl {

enum class FrameKind : uint32_t { hello = 1, welcome, put, get, value, abort, leave, all_left, post };

struct Frame {
  FrameKind kind{};
  int32_t rank = -1; ///< of who speaks; of an abort, who failed
  int32_t code = 0;  ///< of an abort; of hello, the world; of a post, the rank that it is for
  std::string key, value;
};

/// False when the connection is gone.
bool send_frame(int socket, const Frame &);
bool receive_frame(int socket, Frame &);

/// Takes the first frame from the front of what was received, when it is whole: 1; 0 when more must come; -1 when it is
/// no frame.
int take_frame(std::string &received, Frame &);

} // namespace lf::rt::nccl
