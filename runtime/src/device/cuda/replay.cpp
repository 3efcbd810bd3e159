// replay.cpp - see replay.h.
#include "device/cuda/replay.h"

#include "device/cuda/check.h"
#include "rank.h"

#include <cstring>

namespace lf::rt {

static int64_t rounded_up(int64_t bytes) { return (bytes + 255) / 256 * 256; }

Replay::~Replay() {
  if (graph_)
    cudaGraphExecDestroy(graph_);
  cudaFreeHost(host_);
}

void Replay::begin_plain(bool allowed) {
  mode_ = Mode::plain;
  uploaded_ = 0;
  if (!allowed)
    host_decides("it was not wanted");
}

void Replay::end_plain() {
  mode_ = Mode::outside;
  seen_ = true;
}

void Replay::host_decides(const char *why) {
  if (mode_ == Mode::plain && reason_.empty())
    reason_ = why;
  if (mode_ == Mode::capturing)
    throw Failure{5, "expected a step like the one before, which a CUDA graph can hold, got one in which " +
                         std::string(why) + "; set LF_GRAPH=0"};
}

void Replay::begin_capture(cudaStream_t stream) {
  if (!host_ && uploaded_ > 0) {
    LF_CUDA(cudaMallocHost(reinterpret_cast<void **>(&host_), static_cast<size_t>(uploaded_)));
    size_ = uploaded_;
  }
  used_ = 0;
  loads_.clear();
  mode_ = Mode::capturing;
  LF_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

void Replay::end_capture(cudaStream_t stream) {
  mode_ = Mode::outside;
  cudaGraph_t graph = nullptr;
  LF_CUDA(cudaStreamEndCapture(stream, &graph));
  const cudaError_t result = cudaGraphInstantiate(&graph_, graph, 0);
  cudaGraphDestroy(graph);
  LF_CUDA(result);
  LF_CUDA(cudaGraphLaunch(graph_, stream));
}

void Replay::launch(cudaStream_t stream) {
  mode_ = Mode::refilling;
  used_ = 0;
  for (const std::function<void()> &load : loads_)
    load();
  mode_ = Mode::outside;
  LF_CUDA(cudaGraphLaunch(graph_, stream));
}

bool Replay::upload(void *device, const void *host, int64_t bytes, cudaStream_t stream) {
  if (mode_ == Mode::plain)
    uploaded_ += rounded_up(bytes);
  if (mode_ != Mode::capturing && mode_ != Mode::refilling)
    return false;
  if (used_ + bytes > size_)
    throw Failure{5, "expected the uploads of a step to fit in the " + std::to_string(size_) +
                         " bytes of the step before, got more; set LF_GRAPH=0"};
  char *stage = host_ + used_;
  used_ += rounded_up(bytes);
  std::memcpy(stage, host, static_cast<size_t>(bytes));
  if (mode_ == Mode::capturing)
    LF_CUDA(cudaMemcpyAsync(device, stage, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream));
  return true;
}

void Replay::keep_load(std::function<void()> load) {
  if (mode_ == Mode::capturing)
    loads_.push_back(std::move(load));
}

} // namespace lf::rt
