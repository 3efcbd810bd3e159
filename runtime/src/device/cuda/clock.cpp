// clock.cpp - see clock.h.
#include "device/cuda/clock.h"

#include "device/cuda/cuda_device.h"
#include "device/device.h"

#include <chrono>

namespace lf::rt {

CudaClock::CudaClock(lf_rank &c) : c_(c) {
  origin_ = record(0);
  LF_CUDA(cudaEventSynchronize(origin_));
  origin_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
                   .count();
}

CudaClock::~CudaClock() {
  cudaEventDestroy(origin_);
  for (auto &[entry, event] : marks_)
    cudaEventDestroy(event);
}

cudaEvent_t CudaClock::record(int32_t stream) {
  cudaEvent_t event = nullptr;
  LF_CUDA(cudaEventCreate(&event));
  LF_CUDA(cudaEventRecord(event, cuda(&c_).stream(stream)));
  return event;
}

void CudaClock::mark(uint64_t sequence, bool end, int32_t stream) {
  marks_.emplace(std::pair(sequence, end), record(stream));
}

void CudaClock::resolve(std::vector<TraceEntry> &log) {
  for (int32_t stream = 0; stream <= c_.program->num_comms; ++stream)
    finish(c_, stream);
  auto time = [&](uint64_t sequence, bool end, int64_t &to) {
    auto mark = marks_.find({sequence, end});
    if (mark == marks_.end())
      return;
    float ms = 0.0f;
    LF_CUDA(cudaEventElapsedTime(&ms, origin_, mark->second));
    to = origin_ns_ + static_cast<int64_t>(static_cast<double>(ms) * 1e6);
  };
  for (TraceEntry &entry : log) {
    time(entry.sequence, false, entry.issued_ns);
    time(entry.sequence, true, entry.done_ns);
  }
}

std::shared_ptr<DeviceClock> make_clock(lf_rank &c) { return std::make_shared<CudaClock>(c); }

} // namespace lf::rt
