//===- metrics.cpp - What a run says about each step ----------------------===//
//
// See metrics.h. Bytes sent are summed over all ranks, by communicator and kind.
//
//===----------------------------------------------------------------------===//
#include "metrics.h"

#include "../comm/comm.h"
#include "../context.h"
#include "../device/device.h"
#include "files.h"
#include "options.h"
#include "../text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace lf::rt {

/// Leaves whole lines that are not about a step after `last`. True when the file was replaced.
static bool drop_later_steps(const std::string &path, int64_t last) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) // what a pipe or a device was told stays told
    return false;
  std::string text = read_text("--metrics", path), kept;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = text.substr(begin, end + 1 - begin);
    auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer() ||
        object["step"].get<int64_t>() <= last)
      kept += line;
  }
  if (kept.size() == text.size())
    return false;
  write_text(place_of(path), kept);
  return true;
}

Metrics::Metrics(lf_rank &c, bool resumed, bool trains) : c(c) {
  const lf_program &p = *c.program;
  int64_t dp = group_size(p, p.dp);
  tokens_per_step = static_cast<double>(p.micro_batch * p.micro_batches * dp * p.seq_length);
  peak_bytes.resize(c.rank == 0 ? static_cast<size_t>(c.world) : 0);
  int64_t mine = arena_bytes(c);
  c.comms[static_cast<size_t>(p.world_comm)]->gather("peak bytes", &mine, peak_bytes.data(), sizeof mine);
  if (c.rank == 0 && !c.options->metrics.empty()) {
    open_file();
    if (resumed && trains && drop_later_steps(c.options->metrics, c.step.step))
      open_file(); // it is another file now
    else if (!resumed)
      (void)!ftruncate(file, 0); // a device or a pipe has no length
  }
}

Metrics::~Metrics() {
  if (file >= 0)
    close(file);
}

/// Opens the file at its end, locked when it is an ordinary one.
void Metrics::open_file() {
  const std::string &path = c.options->metrics;
  if (file >= 0)
    close(std::exchange(file, -1));
  // Without O_NONBLOCK a pipe would be waited for until somebody reads it.
  file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file < 0)
    throw Failure{4, "--metrics: " + quote(path) + ": expected a file that can be written to, got: " +
                         (errno == ENXIO ? "a pipe that nobody reads, or a socket" : std::strerror(errno))};
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && !lock_file(file)) {
    close(std::exchange(file, -1));
    throw Failure{
        4, "--metrics: " + quote(path) +
               ": expected a file that no other run writes, got one that a run is writing; wait for its end, or name "
               "another file"};
  }
}

/// Steps cost more than their lines: where the next one can be saved the run ends with it, else it goes on to its end.
void Metrics::write_line(const std::string &line, int64_t step) {
  // The other ranks wait for this one meanwhile.
  if (silent_ || write_whole(file, line.data(), line.size(), c.transport->timeout_seconds / 2))
    return;
  silent_ = true;
  const std::string place = "--metrics: " + quote(c.options->metrics);
  if (errno == EINTR) { // a signal ends the run as it is
    std::fprintf(stderr, "warning: %s: step %lld and later are not written: nobody reads\n", place.c_str(),
                 static_cast<long long>(step));
    return;
  }
  failure_ = place + ": expected to write step " + std::to_string(step) +
             ", got: " + (errno == ETIMEDOUT ? "a reader that takes nothing" : std::strerror(errno));
  c.step.stop_asked = !c.options->save.empty();
  std::fprintf(stderr, "warning: %s; the run %s\n", failure_.c_str(),
               c.step.stop_asked ? "saves after the next step, and ends" : "goes on without them");
}

void Metrics::check() const {
  if (!failure_.empty())
    throw Failure{4, failure_};
}

/// A JSON object on rank 0. All ranks take part.
std::string Metrics::comm_bytes() {
  const lf_program &p = *c.program;
  size_t rows = static_cast<size_t>(p.num_comms) + 1; // the last is "pp", of sends
  std::vector<double> bytes(rows * num_op_kinds, 0.0);
  auto name = [&](size_t row) { return row + 1 < rows ? std::string(p.comms[row].name) : std::string("pp"); };
  for (const Traffic::Row &row : c.traffic->rows())
    for (size_t i = 0; i < rows; ++i)
      if (name(i) == row.comm) {
        bytes[i * num_op_kinds + static_cast<size_t>(row.kind)] += static_cast<double>(row.bytes);
        break;
      }
  c.traffic->reset();
  c.comms[static_cast<size_t>(p.world_comm)]->all_reduce("comm bytes", bytes.data(), bytes.data(),
                                                         static_cast<int64_t>(bytes.size()), LF_F64, LF_SUM);
  nlohmann::ordered_json sums = nlohmann::ordered_json::object();
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < num_op_kinds; ++k)
      if (double sum = bytes[i * num_op_kinds + k]; sum > 0)
        sums[name(i)][op_name(static_cast<OpKind>(k))] = static_cast<int64_t>(sum);
  return sums.dump();
}

void Metrics::start(int64_t steps, const std::string &weights) {
  if (c.rank != 0)
    return;
  std::printf("run: %s | ranks %d (%s) | steps %lld to %lld of %s tokens | weights %s\n", c.program->name, c.world,
              c.transport->name(), static_cast<long long>(c.step.step + 1), static_cast<long long>(steps),
              grouped(static_cast<int64_t>(tokens_per_step)).c_str(), weights.c_str());
  std::fflush(stdout);
}

void Metrics::report(const StepReport &r) {
  double per_second = tokens_per_step / std::max(r.ms, 1e-6) * 1e3, per_rank = per_second / c.world;
  double tflops = per_rank * c.program->flops_per_token * 1e-12;
  if (!c.options->metrics.empty()) {
    std::string bytes = comm_bytes();
    if (file >= 0) {
      nlohmann::ordered_json o;
      o["step"] = r.step;
      o["loss"] = r.loss;
      if (!r.mtp_loss.empty())
        o["mtp_loss"] = r.mtp_loss;
      o["grad_norm"] = r.grad_norm;
      o["lr"] = r.lr;
      o["step_ms"] = r.ms;
      o["tokens_per_second"] = per_second;
      o["tokens_per_second_per_gpu"] = per_rank;
      o["tflops_per_gpu"] = tflops;
      o["mfu"] = nullptr; // no dense peak is known for this device
      o["peak_bytes"] = peak_bytes;
      o["comm_bytes"] = nlohmann::ordered_json::parse(bytes);
      o["consumed_samples"] = r.consumed;
      o["skipped"] = 0;
      o["cpu_threads"] = c.cpu_threads;
      write_line(o.dump() + "\n", r.step);
    }
  }
  if (c.rank != 0 || (r.step % c.options->log_interval && r.step != r.steps))
    return;
  auto worst = std::max_element(peak_bytes.begin(), peak_bytes.end());
  double tokens = static_cast<double>(r.consumed) * static_cast<double>(c.program->seq_length);
  const char *unit = tokens >= 1e9 ? "B" : tokens >= 1e6 ? "M" : "";
  std::string depths;
  for (double loss : r.mtp_loss) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.4f", depths.empty() ? " | mtp " : " ", loss);
    depths += text;
  }
  std::printf("step %lld/%lld | loss %.4f%s | gnorm %.4g | lr %.2e | %.1f ms | %s tok/s | %s tok/s/gpu | %.3g TF/gpu | "
              "mem %.3g GiB (rank %d) | tokens %.*f%s\n",
              static_cast<long long>(r.step), static_cast<long long>(r.steps), r.loss, depths.c_str(), r.grad_norm,
              r.lr, r.ms, grouped(static_cast<int64_t>(per_second)).c_str(),
              grouped(static_cast<int64_t>(per_rank)).c_str(), tflops, static_cast<double>(*worst) / (1 << 30),
              static_cast<int>(worst - peak_bytes.begin()), *unit ? 2 : 0,
              tokens / (*unit == 'B'   ? 1e9
                        : *unit == 'M' ? 1e6
                                       : 1.0),
              unit);
  std::fflush(stdout);
}

/// Where the memory of each device goes, of the first few. All ranks take part.
void Metrics::print_memory() {
  constexpr size_t lines = 16;
  DeviceUse mine = device_use(c);
  std::vector<DeviceUse> all(c.rank == 0 ? static_cast<size_t>(c.world) : 0);
  c.comms[static_cast<size_t>(c.program->world_comm)]->gather("device memory", &mine, all.data(), sizeof mine);
  if (c.rank != 0 || mine.device < 0)
    return;
  std::vector<std::pair<DeviceUse, std::vector<size_t>>> devices; // sums, and the ranks
  for (size_t rank = 0; rank < all.size(); ++rank) {
    auto known = std::find_if(devices.begin(), devices.end(), [&](auto &device) {
      return !std::memcmp(device.first.id, all[rank].id, sizeof mine.id);
    });
    if (known == devices.end()) {
      devices.push_back({all[rank], {rank}});
      continue;
    }
    known->first.planned += all[rank].planned;
    known->first.beside += all[rank].beside;
    known->first.transport += all[rank].transport;
    known->second.push_back(rank);
  }
  auto mebi = [](int64_t bytes) { return grouped((bytes + (1 << 19)) >> 20) + " MiB"; };
  for (size_t i = 0; i < std::min(devices.size(), lines); ++i) {
    const auto &[use, ranks] = devices[i];
    const int64_t driver = use.context + use.transport, rest = use.reported - use.planned - use.beside - driver;
    const std::string who =
        ranks.size() == 1 ? "rank " + std::to_string(ranks[0]) : std::to_string(ranks.size()) + " ranks";
    std::printf("memory of GPU %d, %s: planned arenas %s, workspaces and messages %s, driver and libraries about %s; "
                "the driver "
                "reports %s in use, %s (%.1f %%) %s\n",
                use.device, who.c_str(), mebi(use.planned).c_str(), mebi(use.beside).c_str(), mebi(driver).c_str(),
                mebi(use.reported).c_str(), mebi(std::abs(rest)).c_str(),
                100.0 * static_cast<double>(std::abs(rest)) / static_cast<double>(use.reported),
                rest < 0 ? "less" : "more");
  }
}

void Metrics::summary(const StepReport &last, int64_t steps, double seconds) {
  print_memory();
  if (c.rank != 0)
    return;
  if (steps)
    std::printf("done: %lld steps, %s tokens in %.1f s | loss %.4f | %.1f ms/step\n", static_cast<long long>(steps),
                grouped(static_cast<int64_t>(static_cast<double>(steps) * tokens_per_step)).c_str(), seconds, last.loss,
                seconds * 1e3 / static_cast<double>(steps));
  else
    std::printf("done: nothing to train, step %lld of %lld was reached before\n", static_cast<long long>(last.step),
                static_cast<long long>(last.steps));
  std::fflush(stdout);
}

} // namespace lf::rt
