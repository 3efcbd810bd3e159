// server.cpp - see server.h.
#include "comm/nccl/server.h"

#include "rank.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

namespace lf::rt::nccl {

Server::Server(int32_t world, int port, bool loopback) : world_(world) {
  listening_ = loopback ? -1 : socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool v6 = listening_ >= 0;
  if (!v6)
    listening_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int on = 1, off = 0;
  setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int result;
  if (v6) {
    setsockopt(listening_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 at{};
    at.sin6_family = AF_INET6;
    at.sin6_addr = in6addr_any;
    at.sin6_port = htons(static_cast<uint16_t>(port));
    result = bind(listening_, reinterpret_cast<sockaddr *>(&at), sizeof at);
  } else {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
    at.sin_port = htons(static_cast<uint16_t>(port));
    result = bind(listening_, reinterpret_cast<sockaddr *>(&at), sizeof at);
  }
  if (result == 0)
    result = listen(listening_, world + 16);
  if (result != 0) {
    std::string cause = std::strerror(errno);
    close(listening_);
    throw Failure{5, "expected rank 0 to listen on port " + std::to_string(port) + ", got \"" + cause +
                         "\"; set MASTER_PORT to a free port, the same for all ranks"};
  }
  thread_ = std::thread([this] { serve(); });
}

Server::~Server() {
  stop_ = true;
  thread_.join();
  for (const Client &client : clients_)
    close(client.socket);
  close(listening_);
}

// Without the store the job cannot go on: its clients see their connections end.
void Server::serve() try {
  while (!stop_.load())
    serve_once();
} catch (const std::exception &) { // no memory
  for (const Client &client : clients_)
    shutdown(client.socket, SHUT_RDWR);
}

void Server::serve_once() {
  std::vector<pollfd> polled{{listening_, POLLIN, 0}};
  for (const Client &client : clients_)
    polled.push_back({client.socket, POLLIN, 0});
  if (::poll(polled.data(), polled.size(), 50) < 0)
    return;
  const auto now = std::chrono::steady_clock::now();
  const auto mute = [&](const Client &client) {
    return client.rank < 0 && now - client.since > std::chrono::seconds(10);
  };
  std::vector<Client> gone;
  for (size_t i = polled.size(); i-- > 1;)
    if ((polled[i].revents && !receive(clients_[i - 1])) || mute(clients_[i - 1])) {
      gone.push_back(clients_[i - 1]);
      clients_.erase(clients_.begin() + static_cast<int64_t>(i - 1));
    }
  for (const Client &client : gone) {
    close(client.socket);
    for (auto it = waiting_.begin(); it != waiting_.end();)
      it = it->second == client.socket ? waiting_.erase(it) : std::next(it);
    if (client.rank >= 0)
      connected_.fetch_sub(1);
    lost(client);
  }
  if (polled[0].revents)
    accept_client();
}

void Server::accept_client() {
  if (int fresh = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC); fresh >= 0) {
    clients_.push_back({fresh});
    return;
  }
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
    return;
  // Who has said nothing for longest makes room for who may be a rank.
  auto oldest = std::find_if(clients_.begin(), clients_.end(), [](const Client &client) { return client.rank < 0; });
  if (oldest == clients_.end()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // else it would be asked without a pause
    return;
  }
  close(oldest->socket);
  clients_.erase(oldest);
}

bool Server::receive(Client &client) {
  char bytes[1 << 16];
  const ssize_t n = recv(client.socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n <= 0)
    return n < 0 && (errno == EINTR || errno == EAGAIN);
  client.received.append(bytes, static_cast<size_t>(n));
  Frame frame;
  int taken;
  while ((taken = take_frame(client.received, frame)) > 0)
    if (client.rank >= 0 || frame.kind == FrameKind::hello)
      handle(client, frame);
  return taken == 0;
}

// Rank 0 last: its process may end when it hears, and the server with it.
void Server::tell_all(const Frame &frame, int32_t but) {
  for (bool first : {false, true})
    for (const Client &client : clients_)
      if (client.rank >= 0 && client.rank != but && (client.rank == 0) == first)
        send_frame(client.socket, frame);
}

void Server::abort_job(const Frame &frame, int32_t but) {
  if (aborted_)
    return;
  aborted_ = frame;
  tell_all(frame, but);
  told_ = true;
}

void Server::lost(const Client &client) {
  if (client.rank >= 0 && !client.left)
    abort_job({FrameKind::abort, client.rank, 5, "", "its process ended without a word (killed, or out of memory?)"},
              client.rank);
}

void Server::greet(Client &client, const Frame &hello) {
  const auto send_away = [&](const std::string &why) {
    send_frame(client.socket, {FrameKind::abort, hello.rank, 2, "", why});
  };
  const std::string two_jobs = "; two jobs on one host need two ports: set MASTER_PORT";
  const std::string worlds =
      "expected a world of " + std::to_string(world_) + " as on rank 0, got " + std::to_string(hello.code) + two_jobs;
  const bool same = hello.code == world_, complete = met_.load() == world_;
  if (same && (hello.rank < 0 || hello.rank >= world_))
    return send_away("expected a rank below " + std::to_string(world_) + ", got " + std::to_string(hello.rank));
  if (!same && complete) // of another job: this one has all of its ranks
    return send_away(worlds);
  const bool second =
      std::any_of(clients_.begin(), clients_.end(), [&](const Client &other) { return other.rank == hello.rank; });
  if (second && same && aborted_) { // its place was taken, perhaps by who ended the job
    if (ranks_.insert(hello.rank).second)
      met_.fetch_add(1);
    send_frame(client.socket, *aborted_);
    return;
  }
  if (second)
    return send_away(same ? "expected one process with RANK=" + std::to_string(hello.rank) +
                                ", got a second one; give every process a rank of its own" + two_jobs
                          : worlds);
  client.rank = hello.rank;
  send_frame(client.socket, {FrameKind::welcome, 0, world_, "", ""});
  connected_.fetch_add(1);
  if (same && ranks_.insert(hello.rank).second)
    met_.fetch_add(1);
  if (!same)
    abort_job({FrameKind::abort, hello.rank, 2, "", worlds}, -1);
  if (aborted_)
    send_frame(client.socket, *aborted_);
}

void Server::handle(Client &client, const Frame &frame) {
  switch (frame.kind) {
  case FrameKind::hello:
    greet(client, frame);
    break;
  case FrameKind::put: {
    values_[frame.key] = frame.value;
    auto [begin, end] = waiting_.equal_range(frame.key);
    for (auto it = begin; it != end; ++it)
      send_frame(it->second, {FrameKind::value, 0, 0, frame.key, frame.value});
    waiting_.erase(begin, end);
    break;
  }
  case FrameKind::get:
    if (auto known = values_.find(frame.key); known != values_.end())
      send_frame(client.socket, {FrameKind::value, 0, 0, frame.key, known->second});
    else
      waiting_.emplace(frame.key, client.socket);
    break;
  case FrameKind::abort:
    abort_job(frame, frame.rank);
    client.left = true;
    break;
  case FrameKind::post:
    for (const Client &other : clients_)
      if (other.rank == frame.code)
        send_frame(other.socket, frame);
    break;
  case FrameKind::leave:
    client.left = true;
    if (++left_ == world_)
      tell_all({FrameKind::all_left, 0, 0, "", ""}, -1);
    break;
  default:
    break;
  }
}

} // namespace lf::rt::nccl
