//===- trace_file.cpp - The measured timeline of a run, as a file ---------===//
//
// See trace_file.h. An action lasts until the next one begins: a rank runs its program line by line.
//
//===----------------------------------------------------------------------===//
#include "trace_file.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "../context.h"
#include "../device/device.h"
#include "../text.h"
#include "files.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace lf::rt {
namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool ends_with(const std::string &text, const char *end) {
  size_t n = std::strlen(end);
  return text.size() >= n && text.compare(text.size() - n, n, end) == 0;
}

/// A layer's function, called by an action.
bool is_body(const std::string &function) {
  return ends_with(function, ".fwd") || ends_with(function, ".bwd") || ends_with(function, ".wgrad");
}

/// "F", "B" or "W" for the passes of a stage, else "".
const char *pass_of(const std::string &function) {
  return ends_with(function, ".forward")    ? "F"
         : ends_with(function, ".backward") ? "B"
         : ends_with(function, ".weight")   ? "W"
                                            : "";
}

struct Verb {
  const char *action, *slice;
};
/// Actions that only send or receive a message between stages, "stage1.wait_forward": how the slice of it begins.
constexpr Verb verbs[] = {{".send_", "send "}, {".receive_", "recv "}, {".wait_", "recv "}, {".post_", "post "}};

/// "recv F" for the message that a stage's F needs (or sends, for "send F"), by the action it is in; "" elsewhere.
std::string message_of(const std::string &function) {
  for (const Verb &verb : verbs)
    if (size_t at = function.find(verb.action); at != std::string::npos)
      return verb.slice + std::string(ends_with(function, "_backward") ? "B" : "F");
  return "";
}

/// 12 of "stage12.forward", -1 where the function is not a stage's.
int32_t stage_of(const std::string &function) {
  int32_t stage = -1;
  return std::sscanf(function.c_str(), "stage%d.", &stage) == 1 ? stage : -1;
}

struct Writer {
  int32_t rank;
  int64_t begin;
  std::string text{};

  void metadata(const char *kind, int tid, const std::string &name) {
    text += R"({"ph":"M","name":")" + std::string(kind) + R"(","pid":)" + std::to_string(rank + 1) + R"(,"tid":)" +
            std::to_string(tid) + R"(,"args":{"name":)" + nlohmann::json(name).dump() + "}},\n";
  }
  void slice(int tid, const std::string &name, const std::string &category, int64_t from, int64_t to,
             const nlohmann::ordered_json &args) {
    char times[96];
    std::snprintf(times, sizeof times, R"("ts":%.3f,"dur":%.3f)", static_cast<double>(from - begin) * 1e-3,
                  static_cast<double>(std::max<int64_t>(to - from, 0)) * 1e-3);
    text += R"({"ph":"X","name":)" + nlohmann::json(name).dump() + R"(,"cat":)" + nlohmann::json(category).dump() +
            R"(,"pid":)" + std::to_string(rank + 1) + R"(,"tid":)" + std::to_string(tid) + "," + times + R"(,"args":)" +
            args.dump() + "},\n";
  }
};

} // namespace

std::string trace_events(const std::vector<TraceEntry> &log, int32_t rank, int32_t pp, int32_t pp_size, int64_t begin_ns,
                         int64_t end_ns) {
  Writer w{rank, begin_ns};
  const std::string track = "pp" + std::to_string(pp);
  w.metadata("process_name", 0, "rank " + std::to_string(rank));
  w.metadata("thread_name", 2 * pp, track + " passes");
  w.metadata("thread_name", 2 * pp + 1, track + " messages");
  std::vector<const TraceEntry *> order;
  for (const TraceEntry &e : log)
    order.push_back(&e);
  std::sort(order.begin(), order.end(),
            [](const TraceEntry *a, const TraceEntry *b) { return a->sequence < b->sequence; });

  // A pass may be two actions, the stage's and its tail's, one behind the other: they make one slice.
  auto pass_at = [&](const TraceEntry &e) {
    const std::string function = e.function;
    const char *pass = e.kind == OpKind::Enter && !is_body(function) ? pass_of(function) : "";
    return pass[0] ? pass + std::to_string(e.micro_batch) + function.substr(0, function.find('.')) : std::string();
  };
  std::vector<const TraceEntry *> merged;
  std::string before;
  for (const TraceEntry *e : order) {
    const bool action = e->kind == OpKind::Enter && !is_body(e->function);
    const std::string pass = pass_at(*e);
    if (!action || pass.empty() || pass != before)
      merged.push_back(e);
    if (action)
      before = pass;
  }
  order = std::move(merged);

  int64_t action_end = end_ns, body_end = end_ns; // of the next one, seen from behind
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const TraceEntry &e = **it;
    const std::string function = e.function;
    nlohmann::ordered_json args = nlohmann::ordered_json::object();
    if (e.micro_batch >= 0)
      args["micro_batch"] = e.micro_batch;
    if (e.layer >= 0)
      args["layer"] = e.layer;
    const std::string pass = is_body(function) ? "" : pass_of(function), message = message_of(function);
    if (int32_t stage = stage_of(function); stage >= 0 && !(pass.empty() && message.empty())) {
      args["chunk"] = stage / pp_size; // in either placement of stages
      args["stage"] = stage;
    }
    if (e.kind != OpKind::Enter) {
      args["in"] = function;
      args["count"] = e.count;
      if (e.peer >= 0)
        args["peer"] = e.peer;
      if (message.empty())
        w.slice(2 * pp + 1, op_name(e.kind) + std::string(" ") + e.what, e.comm[0] ? e.comm : "pp", e.issued_ns, e.done_ns, args);
      else
        w.slice(2 * pp + 1, message + std::to_string(e.micro_batch), "message", e.issued_ns, e.done_ns, args);
    } else if (is_body(function)) {
      w.slice(2 * pp, function + (e.layer >= 0 ? " " + std::to_string(e.layer) : ""), "layer", e.issued_ns, body_end,
              args);
      body_end = e.issued_ns;
    } else {
      if (message.empty()) // else the message's own slice says all there is to say
        w.slice(2 * pp, pass.empty() ? function : pass + std::to_string(e.micro_batch), pass.empty() ? "step" : pass,
                e.issued_ns, action_end, args);
      action_end = body_end = e.issued_ns;
    }
  }
  return w.text;
}

static Failure not_written(const std::string &path, int reason) {
  return {4, "--trace: " + quote(path) + ": expected a file that can be written to, got: " +
                 (reason == ENXIO       ? "a pipe that nobody reads, or a socket"
                  : reason == ETIMEDOUT ? "a reader that takes nothing"
                                        : std::strerror(reason))};
}

TraceRecording::TraceRecording(lf_rank &c, const std::string &path) : c_(c), path_(path) {
  if (c.rank != 0)
    return;
  // Without O_NONBLOCK a pipe would be waited for until somebody reads it.
  special_ = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (special_ < 0 && errno != ENOENT)
    throw not_written(path, errno);
  struct stat status;
  if (special_ >= 0 && fstat(special_, &status) == 0 && S_ISREG(status.st_mode))
    close(std::exchange(special_, -1));
  if (special_ < 0)
    try {
      AtomicFile probe(place_of(path));
    } catch (const Failure &failure) {
      throw Failure{4, "--trace: " + failure.message};
    }
}

TraceRecording::~TraceRecording() {
  if (special_ >= 0)
    close(special_);
}

void TraceRecording::start() {
  c_.comms[static_cast<size_t>(c_.program->world_comm)]->barrier("start of the trace");
  c_.trace->set_clock(make_clock(c_));
  c_.trace->keep_log(true);
  c_.trace->log_begin_ns = now_ns();
}

void TraceRecording::stop() {
  end_ns_ = now_ns();
  c_.trace->keep_log(false);
  log_ = c_.trace->log();
  if (c_.trace->clock())
    c_.trace->clock()->resolve(log_);
  log_.erase(std::remove_if(log_.begin(), log_.end(),
                            [&](const TraceEntry &e) { return e.issued_ns < c_.trace->log_begin_ns; }),
             log_.end());
}

void TraceRecording::write() {
  std::string mine =
      trace_events(log_, c_.rank, c_.pp, group_size(*c_.program, c_.program->pp), c_.trace->log_begin_ns, end_ns_);
  Communicator &world = *c_.comms[static_cast<size_t>(c_.program->world_comm)];
  int64_t size = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(c_.rank == 0 ? static_cast<size_t>(c_.world) : 0);
  world.gather("trace sizes", &size, sizes.data(), sizeof size);
  int64_t most = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  world.broadcast("trace size", &most, sizeof most);
  mine.resize(static_cast<size_t>(most), ' ');
  std::vector<char> all(c_.rank == 0 ? static_cast<size_t>(most * c_.world) : 0);
  world.gather("trace", mine.data(), all.data(), most);
  if (c_.rank != 0)
    return;
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (size_t i = 0; i < sizes.size(); ++i)
    text.append(all.data() + i * static_cast<size_t>(most), static_cast<size_t>(sizes[i]));
  text.resize(text.size() - 2); // the last ",\n"; each rank has its metadata at least
  text += "\n]}\n";
  if (special_ < 0)
    try {
      return write_text(place_of(path_), text);
    } catch (const Failure &failure) {
      throw Failure{4, "--trace: " + failure.message};
    }
  if (!write_whole(special_, text.data(), text.size(), c_.transport->timeout_seconds / 2)) {
    if (errno != EINTR)
      throw not_written(path_, errno);
    std::fprintf(stderr, "warning: --trace: %s: a part of it is not written: nobody reads\n", quote(path_).c_str());
  }
  if (close(std::exchange(special_, -1)) != 0)
    throw not_written(path_, errno);
}

} // namespace lf::rt
