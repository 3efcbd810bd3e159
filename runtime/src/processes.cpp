// processes.cpp - see processes.h.
#include "processes.h"

#include "rank.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lf::rt {
namespace {

Failure refusal(const std::string &what, int error) {
  return Failure{5, "expected " + what + " on this host, got \"" + std::strerror(error) + "\""};
}

/// The arguments of this process, as it was started.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()), word;
  std::vector<std::string> words;
  for (char c : text)
    if (c)
      word += c;
    else
      words.push_back(std::exchange(word, ""));
  if (words.empty())
    throw Failure{5, "expected the arguments of this process in /proc/self/cmdline, got none; start a process for each "
                     "rank with torchrun --no-python"};
  return words;
}

/// A port that nobody listens on now.
int free_port() {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length) != 0)
    throw refusal("a free port of 127.0.0.1", errno);
  close(socket);
  return ntohs(address.sin_port);
}

constexpr int stopped_by_signal = 75; ///< no failure: every rank ends so

volatile std::sig_atomic_t pending[3] = {};
constexpr int forwarded[3] = {SIGINT, SIGTERM, SIGUSR1};

void note(int signal) {
  for (int i = 0; i < 3; ++i)
    if (forwarded[i] == signal)
      pending[i] = pending[i] + 1;
}

/// Takes the signals over while it lives.
struct Forwarding {
  Forwarding() {
    struct sigaction action {};
    action.sa_handler = note;
    for (int i = 0; i < 3; ++i)
      sigaction(forwarded[i], &action, &before[i]);
  }
  ~Forwarding() {
    for (int i = 0; i < 3; ++i)
      sigaction(forwarded[i], &before[i], nullptr);
  }
  struct sigaction before[3];
};

pid_t start(const std::vector<std::string> &arguments, int32_t rank, int32_t world, int port) {
  std::vector<std::string> settings;
  for (char **entry = environ; *entry; ++entry)
    settings.push_back(*entry);
  for (auto &[name, value] : {std::pair("RANK", std::to_string(rank)), {"LOCAL_RANK", std::to_string(rank)},
                              {"WORLD_SIZE", std::to_string(world)}, {"MASTER_ADDR", std::string("127.0.0.1")},
                              {"MASTER_PORT", std::to_string(port)}})
    settings.push_back(std::string(name) + "=" + value);
  std::vector<char *> words, environment;
  for (const std::string &word : arguments)
    words.push_back(const_cast<char *>(word.c_str()));
  // The last of two settings of one name would be hidden by the first.
  for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting)
    environment.push_back(const_cast<char *>(setting->c_str()));
  words.push_back(nullptr);
  environment.push_back(nullptr);
  const pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0)
    throw refusal("a process for rank " + std::to_string(rank), errno);
  if (child == 0) {
    setpgid(0, 0); // signals of the terminal come by way of the parent, once
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
      _exit(5);
    execve("/proc/self/exe", words.data(), environment.data());
    _exit(5);
  }
  return child;
}

} // namespace

int run_processes(int32_t world, double grace_seconds) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::string> arguments = own_arguments();
  const int port = free_port();
  Forwarding forwarding;
  std::vector<pid_t> running;
  for (int32_t rank = 0; rank < world; ++rank)
    running.push_back(start(arguments, rank, world, port));
  int first = 0;
  std::optional<Clock::time_point> failed;
  bool killed = false;
  while (!running.empty()) {
    for (int i = 0; i < 3; ++i)
      while (pending[i] > 0) {
        pending[i] = pending[i] - 1;
        for (pid_t child : running)
          kill(child, forwarded[i]);
      }
    int status = 0;
    pid_t child = waitpid(-1, &status, WNOHANG);
    if (child > 0) {
      std::erase(running, child);
      int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (first == 0)
        first = code;
      if (code != 0 && code != stopped_by_signal && !failed)
        failed = Clock::now();
      continue;
    }
    if (failed && !killed && std::chrono::duration<double>(Clock::now() - *failed).count() > grace_seconds) {
      killed = true;
      for (pid_t other : running)
        kill(other, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return first;
}

} // namespace lf::rt
