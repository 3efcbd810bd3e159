// control.cpp - the client's side, and where the server is.
#include "comm/nccl/control.h"

#include "comm/nccl/frame.h"
#include "comm/nccl/server.h"
#include "signals.h"
#include "text.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace lf::rt::nccl {

using Clock = std::chrono::steady_clock;

static std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  return text.substr(0, text.find('.') + 3);
}

Address find_address() {
  const char *host = std::getenv("MASTER_ADDR"), *port = std::getenv("MASTER_PORT");
  Address address{host && *host ? host : "127.0.0.1", 29500};
  if (address.host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_%-") !=
      std::string::npos)
    throw Failure{2,
                  "expected the environment variable MASTER_ADDR to be the name or the address of rank 0's host, got " +
                      quote(address.host)};
  if (port) {
    char *end = nullptr;
    long value = std::strtol(port, &end, 10);
    if (end == port || *end || value < 1 || value > 65534)
      throw Failure{2, "expected the environment variable MASTER_PORT to be a port of 1 to 65534, got " + quote(port)};
    address.port = static_cast<int>(value);
  }
  const char *store = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  if (store && !std::strcmp(store, "True"))
    ++address.port;
  return address;
}

Address own_address() {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool found = socket >= 0 && bind(socket, reinterpret_cast<sockaddr *>(&address), length) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length) == 0;
  const int error = errno;
  if (socket >= 0)
    close(socket);
  if (!found)
    throw Failure{5,
                  std::string("expected a free port of 127.0.0.1 on this host, got \"") + std::strerror(error) + "\""};
  return {"127.0.0.1", ntohs(address.sin_port)};
}

/// Connects within a second. False, and errno, when that fails.
static bool connect_soon(int socket, const addrinfo &to) {
  const int flags = fcntl(socket, F_GETFL);
  fcntl(socket, F_SETFL, flags | O_NONBLOCK);
  if (connect(socket, to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS)
      return false;
    pollfd polled{socket, POLLOUT, 0};
    const int ready = ::poll(&polled, 1, 1000);
    int error = ready == 0 ? ETIMEDOUT : errno;
    socklen_t length = sizeof error;
    if (ready > 0)
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length);
    if (ready <= 0 || error != 0) {
      errno = error;
      return false;
    }
  }
  fcntl(socket, F_SETFL, flags);
  return true;
}

/// Where nobody listens on a port of this host that connecting sockets are given too, a socket can meet itself.
static bool is_own(int socket) {
  sockaddr_storage here{}, there{};
  socklen_t here_length = sizeof here, there_length = sizeof there;
  return getsockname(socket, reinterpret_cast<sockaddr *>(&here), &here_length) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr *>(&there), &there_length) == 0 && here_length == there_length &&
         std::memcmp(&here, &there, here_length) == 0;
}

/// A connected socket, or -1 and the cause.
static int try_connect(const Address &address, std::string &cause) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int result = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list)) {
    cause = gai_strerror(result);
    return -1;
  }
  int connected = -1;
  for (addrinfo *at = list; at && connected < 0; at = at->ai_next) {
    int fresh = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool answered = fresh >= 0 && connect_soon(fresh, *at);
    if (answered && !is_own(fresh)) {
      connected = fresh;
      continue;
    }
    cause = answered ? "Connection refused" : std::strerror(errno);
    if (answered) { // gone at once: the port is rank 0's
      const linger none{1, 0};
      setsockopt(fresh, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    }
    if (fresh >= 0)
      close(fresh);
  }
  freeaddrinfo(list);
  return connected;
}

/// Nothing has been trained yet that the job could save before it ends.
static Failure stopped_at_start(const std::string &expected) {
  return {75, "expected " + expected + ", got " + stop_signal() +
                  "; the job ends before its first step, and its checkpoints are as they were"};
}

Control::Control(int32_t rank, int32_t world, const Address &address, double timeout) : rank_(rank), world_(world) {
  if (rank == 0)
    server_ = std::make_unique<Server>(world, address.port, address.host == "127.0.0.1");
  const Address to = rank == 0 ? Address{"127.0.0.1", address.port} : address;
  const std::string awaited = "rank 0 to answer at " + to.text();
  const auto end = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  const auto wait = [&] {
    if (stop_wanted())
      throw stopped_at_start(awaited);
    return Clock::now() < end;
  };
  std::string cause;
  Frame first;
  while ((socket_ = try_connect(to, cause)) < 0 || !greet(first, cause, wait)) {
    if (!wait())
      throw Failure{5, "expected " + awaited + " within " + seconds_text(timeout) + " s, got \"" + cause +
                           "\" on rank " + std::to_string(rank) +
                           "; set MASTER_ADDR to the host of rank 0 and MASTER_PORT to a free port of it"};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (first.kind == FrameKind::abort)
    heard(first.rank, first.code, first.value);
  listener_ = std::thread([this] { listen(); });
}

/// Says hello on the fresh connection, and takes the answer. False and the cause, and no connection, when whoever is
/// there is not rank 0 of a job.
bool Control::greet(Frame &answer, std::string &cause, const std::function<bool()> &wait) {
  bool heard = send_frame(socket_, {FrameKind::hello, rank_, world_, "", ""});
  for (pollfd polled{socket_, POLLIN, 0}; heard && ::poll(&polled, 1, 50) <= 0;)
    heard = wait();
  const timeval most{5, 0}; // for the rest of what has begun to come
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  if (heard && receive_frame(socket_, answer) &&
      (answer.kind == FrameKind::welcome || answer.kind == FrameKind::abort)) {
    const timeval forever{0, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
    return true;
  }
  cause = "a server that is not rank 0 of a job";
  close(socket_);
  socket_ = -1;
  return false;
}

Control::~Control() {
  closing_ = true;
  shutdown(socket_, SHUT_RDWR);
  listener_.join();
  close(socket_);
}

void Control::listen() try {
  for (Frame frame; receive_frame(socket_, frame);) {
    switch (frame.kind) {
    case FrameKind::value: {
      std::lock_guard<std::mutex> lock(mutex_);
      values_[frame.key] = frame.value;
      break;
    }
    case FrameKind::post: {
      std::lock_guard<std::mutex> lock(mutex_);
      ++posts_[frame.key];
      break;
    }
    case FrameKind::abort:
      heard(frame.rank, frame.code, frame.value);
      break;
    case FrameKind::all_left:
      everybody_left_ = true;
      break;
    default:
      break;
    }
    changed_.notify_all();
  }
  if (!closing_.load() && !everybody_left_.load())
    heard(0, 5, "its process ended without a word (killed, or out of memory?)");
  changed_.notify_all();
} catch (...) {
  const Failure failure = current_failure();
  heard(rank_, failure.code, failure.message);
}

void Control::heard(int32_t culprit, int32_t code, const std::string &message) {
  std::function<void()> act;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (failed_.load())
      return;
    culprit_ = culprit;
    failure_ = {code, message};
    failed_ = true;
    act = on_failure_;
  }
  changed_.notify_all(); // before `act`, which may wait for who waits for the news
  if (act)
    act();
}

void Control::on_failure(std::function<void()> act) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    on_failure_ = act;
    if (!failed_.load())
      return;
  }
  act();
}

void Control::put(const std::string &key, const std::string &value) {
  std::lock_guard<std::mutex> lock(sending_);
  send_frame(socket_, {FrameKind::put, rank_, 0, key, value});
}

std::string Control::get(const std::string &key, double timeout, const std::string &waits) {
  {
    std::lock_guard<std::mutex> lock(sending_);
    send_frame(socket_, {FrameKind::get, rank_, 0, key, ""});
  }
  std::unique_lock<std::mutex> lock(mutex_);
  const auto start = Clock::now();
  const auto came = [&] { return failed_.load() || values_.count(key); };
  bool late = false;
  while (!changed_.wait_for(lock, std::chrono::milliseconds(50), came) && !late) { // a signal wakes nobody here
    if (starting_.load() && stop_wanted())
      throw stopped_at_start(waits + " to arrive");
    late = std::chrono::duration<double>(Clock::now() - start).count() > timeout;
  }
  if (failed_.load())
    return "";
  if (!values_.count(key))
    throw Failure{5, "expected " + waits + " to arrive within " + seconds_text(timeout) +
                         " s, got nothing (to allow more time: --distributed-timeout-minutes or LF_TIMEOUT_SECONDS)"};
  return values_[key];
}

bool Control::wait_for_failure(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return failed_.load(); });
}

void Control::post(int32_t rank, const std::string &key) {
  std::lock_guard<std::mutex> lock(sending_);
  send_frame(socket_, {FrameKind::post, rank_, rank, key, ""});
}

int64_t Control::posts(const std::string &key) {
  std::lock_guard<std::mutex> lock(mutex_);
  return posts_[key];
}

void Control::fail(const Failure &failure) {
  closing_ = true;
  std::lock_guard<std::mutex> lock(sending_);
  send_frame(socket_, {FrameKind::abort, rank_, failure.code, "", failure.message.substr(0, 4096)});
}

void Control::leave() {
  std::lock_guard<std::mutex> lock(sending_);
  send_frame(socket_, {FrameKind::leave, rank_, 0, "", ""});
}

void Control::wait_for_others(double seconds) {
  if (!server_)
    return;
  const auto most = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const auto begin = Clock::now();
  for (;;) {
    const auto now = Clock::now();
    // A signal hurries, but those who are connecting at this moment still hear why.
    const auto patience =
        stop_wanted() ? begin + std::min<Clock::duration>(most, std::chrono::milliseconds(500)) : begin_ + most;
    const bool come = server_->met() >= world_ || now > patience;
    const bool gone = server_->told() && server_->connected() <= 1;
    if ((gone && come) || now > begin + most)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

} // namespace lf::rt::nccl
