// open.cpp - which GPU a rank uses, whether it can, and whether the plan fits.
//
// Idea: everything that can be refused is refused here, before the first byte is allocated.
#include "comm/comm.h"
#include "comm/mesh.h"
#include "context.h"
#include "device/cuda/cuda_device.h"
#include "device/device.h"
#include "launch.h"
#include "lf/driver_memory.h"
#include "lf/scratch.h"
#include "text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace lf::rt {
namespace {

std::string version(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

int32_t count_devices() {
  int driver = 0, runtime = 0, count = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  cudaError_t result = driver == 0 ? cudaErrorInsufficientDriver : cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0)
    return count;
  cudaGetLastError();
  std::string got = driver == 0                             ? "no NVIDIA driver"
                    : result == cudaErrorInsufficientDriver ? "a driver for CUDA " + version(driver)
                    : result == cudaErrorNoDevice || count == 0
                        ? "none (is CUDA_VISIBLE_DEVICES set to something else?)"
                        : "\"" + std::string(cudaGetErrorString(result)) + "\"";
  throw Failure{2, "expected an NVIDIA GPU and a driver for CUDA " + version(runtime) + " or newer, got " + got +
                       "; run on a machine with a GPU, or compile with --target cpu"};
}

/// Number of this process among those of its host; 0 when it was started alone.
int32_t local_process() {
  for (const char *name : {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"})
    if (const char *text = std::getenv(name)) {
      char *end = nullptr;
      const long value = std::strtol(text, &end, 10);
      if (end == text || *end || value < 0 || value > 1 << 16)
        throw Failure{2, "expected the environment variable " + std::string(name) +
                             " to be the number of this process on its host, got " + quote(text)};
      return static_cast<int32_t>(value);
    }
  return 0;
}

std::string mebibytes(int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

/// Free memory of a device before any rank of this process took some.
int64_t free_at_start(int32_t ordinal) {
  static std::mutex mutex;
  static std::map<int32_t, int64_t> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, fresh] = known.try_emplace(ordinal, 0);
  if (fresh) {
    size_t free = 0, total = 0;
    LF_CUDA(cudaMemGetInfo(&free, &total));
    entry->second = static_cast<int64_t>(free);
  }
  return entry->second;
}

/// What the rank's transport takes by itself, about.
int64_t transport_memory(const lf_rank &c) {
  const bool takes = c.program->memory && c.transport->takes_device_memory();
  return takes ? std::max<int64_t>(c.program->memory[c.pp].driver - context_memory, 0) : 0;
}

int64_t planned(const lf_memory &m) { return m.parameters + m.gradients + m.optimizer + m.saved + m.workspace; }

void check_fits(const lf_rank &c, int32_t ordinal, int32_t devices, bool alone) {
  const lf_program &p = *c.program;
  if (!p.memory)
    return;
  int64_t need = context_memory + transport_memory(c), ranks = 0;
  for (int32_t r = 0; r < c.world; ++r)
    if (alone ? r % devices == ordinal : r == c.rank) {
      const int32_t pp = group_index(p, mesh_coordinates(p, r), p.pp);
      need += planned(p.memory[pp]) + device_overhead(p, pp);
      ++ranks;
    }
  int64_t free = free_at_start(ordinal);
  if (need <= free + context_memory / 2) // the context of this process is in place already, its kernels are not
    return;
  const lf_memory &m = p.memory[c.pp];
  throw Failure{3, "expected " + mebibytes(need) + " free on GPU " + std::to_string(ordinal) + " for " +
                       std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + ", got " + mebibytes(free) +
                       "; pipeline rank " + std::to_string(c.pp) + " has parameters " + mebibytes(m.parameters) +
                       ", gradients " + mebibytes(m.gradients) + ", optimizer " + mebibytes(m.optimizer) + ", saved " +
                       mebibytes(m.saved) + ", workspace " + mebibytes(m.workspace) +
                       "; use more GPUs or ranks, a smaller micro-batch, recompute or a distributed optimizer; the "
                       "plan:\n" +
                       (p.report ? p.report : "")};
}

int64_t staging_bytes(const lf_program &p) { return p.seq_length * std::max<int64_t>(p.micro_batch, 1) * 4; }

/// Places of the messages that a pipeline rank sends.
int64_t message_bytes(const lf_program &p, int32_t pp) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < p.num_messages; ++i)
    if (p.messages[i].from == pp)
      bytes += message_places * p.messages[i].count * dtype_size(p.messages[i].type);
  return bytes;
}

/// As the program states it; one that states nothing gets the least.
int64_t scratch_bytes(const lf_program &p, int32_t pp) {
  return std::max(least_scratch(p.seq_length * std::max<int64_t>(p.micro_batch, 1)),
                  p.memory ? p.memory[pp].staging - product_workspace - message_bytes(p, pp) : 0);
}

} // namespace

int32_t own_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess)
    return count;
  cudaGetLastError();
  return 0;
}

int64_t device_overhead(const lf_program &p, int32_t pp) {
  return product_workspace + scratch_bytes(p, pp) + message_bytes(p, pp) + static_cast<int64_t>(sizeof(StepSums));
}

void open_device(lf_rank &c) {
  name_thread(c.rank);
  if (c.program->dtype == LF_F64)
    throw Failure{2,
                  "expected the compute type on cuda to be bfloat16 or float32, got float64; compile with --fp32, or "
                  "for --target cpu"};
  int32_t devices = count_devices();
  std::optional<Launcher> launcher = find_launcher();
  bool alone = !launcher || launcher->world == 1;
  int32_t ordinal = (alone ? c.rank : local_process()) % devices;
  cudaDeviceProp device{};
  LF_CUDA(cudaGetDeviceProperties(&device, ordinal));
  if (device.major < 8)
    throw Failure{2, "expected a GPU of compute capability 8.0 or higher, got \"" + std::string(device.name) +
                         "\" with " + std::to_string(device.major) + "." + std::to_string(device.minor) +
                         "; choose another by CUDA_VISIBLE_DEVICES"};
  LF_CUDA(cudaSetDevice(ordinal));
  check_fits(c, ordinal, devices, alone);
  c.device = std::make_shared<CudaDevice>(ordinal, 1 + c.program->num_comms, staging_bytes(*c.program),
                                          scratch_bytes(*c.program, c.pp));
  cuda(&c).deterministic = c.program->deterministic != 0;
}

std::shared_ptr<void> map_zeroed(lf_rank &c, int64_t bytes) {
  void *base = nullptr;
  if (cudaError_t result = cudaMalloc(&base, static_cast<size_t>(bytes)); result != cudaSuccess) {
    cudaGetLastError();
    if (result == cudaErrorMemoryAllocation)
      return nullptr;
    LF_CUDA(result);
  }
  std::shared_ptr<void> memory(base, [](void *p) { cudaFree(p); });
  LF_CUDA(cudaMemsetAsync(base, 0, static_cast<size_t>(bytes), cuda(&c).compute()));
  return memory;
}

void name_range(lf_rank &c, const Where &at) {
  char text[96];
  if (at.layer >= 0)
    std::snprintf(text, sizeof text, "%s, layer %d, micro-batch %d", at.function, at.layer, at.micro_batch);
  else
    std::snprintf(text, sizeof text, "%s, micro-batch %d", at.function, at.micro_batch);
  cuda(&c).name_range(text);
}

DeviceUse device_use(lf_rank &c) {
  size_t free = 0, total = 0;
  LF_CUDA(cudaMemGetInfo(&free, &total));
  DeviceUse use{.device = cuda(&c).ordinal(),
                .planned = arena_bytes(c),
                .beside = cuda(&c).allocated(),
                .transport = transport_memory(c),
                .context = context_memory,
                .reported = static_cast<int64_t>(total - free)};
  cudaDeviceProp device{};
  LF_CUDA(cudaGetDeviceProperties(&device, use.device));
  static_assert(sizeof use.id == sizeof device.uuid);
  std::memcpy(use.id, &device.uuid, sizeof use.id);
  return use;
}

void record_event(lf_rank &c, lf_event event, int32_t stream) { cuda(&c).record_event(event, stream, c.step.step); }

void wait_event(lf_rank &c, int32_t stream, lf_event event) { cuda(&c).wait_event(stream, event); }

} // namespace lf::rt
