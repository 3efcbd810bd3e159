// cuda_device.cpp - making, using and freeing what one rank has of a GPU.
#include "device/cuda/cuda_device.h"

#include "comm/comm.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <nvtx3/nvToolsExt.h>

namespace lf::rt {

CudaDevice::CudaDevice(int32_t ordinal, int32_t num_streams, int64_t staging, int64_t scratch) : ordinal_(ordinal) {
  LF_CUDA(cudaSetDevice(ordinal));
  for (int32_t i = 0; i < num_streams; ++i) {
    cudaStream_t stream = nullptr;
    LF_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    streams_.push_back(stream);
  }
  LF_BLAS(cublasLtCreate(&blas_));
  LF_CUDA(cudaMalloc(&workspace_, workspace_bytes));
  LF_CUDA(cudaMalloc(reinterpret_cast<void **>(&sums_), sizeof(StepSums)));
  LF_CUDA(cudaMemset(sums_, 0, sizeof(StepSums)));
  LF_CUDA(cudaMallocHost(reinterpret_cast<void **>(&pinned_step_), sizeof(StepSums)));
  slot_bytes_ = std::clamp<int64_t>(staging, int64_t(1) << 20, int64_t(64) << 20);
  LF_CUDA(cudaMallocHost(reinterpret_cast<void **>(&pinned_), static_cast<size_t>(num_slots * slot_bytes_)));
  for (cudaEvent_t &event : slot_free_)
    event = make_event();
  scratch_bytes(scratch);
  LF_CUDA(cudaDeviceSynchronize());
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(ordinal_);
  attention.reset(); // its library works on a stream
  products.reset();
  for (cudaStream_t stream : streams_)
    cudaStreamDestroy(stream);
  for (cudaEvent_t event : events_)
    cudaEventDestroy(event);
  if (blas_)
    cublasLtDestroy(blas_);
  cudaFree(workspace_);
  cudaFree(scratch_);
  cudaFree(sums_);
  cudaFreeHost(pinned_);
  cudaFreeHost(pinned_step_);
}

cudaEvent_t CudaDevice::make_event() {
  cudaEvent_t event = nullptr;
  LF_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  events_.push_back(event);
  return event;
}

void *CudaDevice::scratch_bytes(int64_t bytes) {
  if (bytes > scratch_size_) {
    LF_CUDA(cudaStreamSynchronize(compute()));
    LF_CUDA(cudaFree(scratch_));
    scratch_ = nullptr;
    scratch_size_ = 0;
    LF_CUDA(cudaMalloc(&scratch_, static_cast<size_t>(bytes)));
    scratch_size_ = bytes;
  }
  return scratch_;
}

void CudaDevice::name_range(const char *name) {
  if (ranged_)
    nvtxRangePop();
  nvtxRangePushA(name);
  ranged_ = true;
}

// ---- Order --------------------------------------------------------------------------------------------------------

void CudaDevice::record_event(lf_event event, int32_t stream, int64_t step) {
  if (step != event_step_) {
    event_step_ = step;
    first_event_ = event;
  }
  size_t index = static_cast<size_t>(event - first_event_);
  while (ring_.size() <= index) // in the first step
    ring_.push_back(make_event());
  LF_CUDA(cudaEventRecord(ring_[index], this->stream(stream)));
}

void CudaDevice::wait_event(int32_t stream, lf_event event) {
  if (event >= first_event_) {
    LF_CUDA(cudaStreamWaitEvent(this->stream(stream), ring_[static_cast<size_t>(event - first_event_)], 0));
    return;
  }
  // An event of an earlier step, whose place was used again: wait for everything, which contains it.
  for (cudaStream_t other : streams_)
    LF_CUDA(cudaStreamSynchronize(other));
}

void CudaDevice::finish(cudaStream_t stream, const std::string &name, double timeout, const Where &at,
                        const std::function<void()> &poll) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now(), polled = start;
  for (;;) {
    cudaError_t result = cudaStreamQuery(stream);
    if (result == cudaSuccess)
      return;
    if (result != cudaErrorNotReady)
      check_cuda(result, (std::string("the work of \"") + at.function + "\" and before it, waited for").c_str(),
                 __FILE__, __LINE__);
    auto now = Clock::now();
    if (now - polled > std::chrono::milliseconds(2)) {
      polled = now;
      if (poll)
        poll();
      if (std::chrono::duration<double>(now - start).count() > timeout)
        throw Failure{5, "expected the work of " + name + " to be done within " +
                             std::to_string(static_cast<int64_t>(timeout)) + " s in \"" + at.function + "\", layer " +
                             std::to_string(at.layer) + ", micro-batch " + std::to_string(at.micro_batch) +
                             ", got a stream that still waits; another rank may be late or gone (to allow more time: "
                             "--distributed-timeout-minutes or LF_TIMEOUT_SECONDS)"};
    }
    std::this_thread::yield();
  }
}

void finish(lf_rank &c, cudaStream_t stream, const std::string &name) {
  Transport *transport = c.transport.get();
  CudaDevice::finish(stream, name, transport ? transport->timeout_seconds : 600.0, c.at, [transport] {
    if (transport)
      transport->poll();
  });
}

void finish(lf_rank &c, int32_t stream) {
  finish(c, cuda(&c).stream(stream), stream == 0 ? "the compute stream" : "stream " + std::to_string(stream));
}

// ---- Copies -------------------------------------------------------------------------------------------------------

void CudaDevice::upload(void *device, const void *host, int64_t bytes) {
  if (replay.upload(device, host, bytes, compute()))
    return;
  for (int64_t begin = 0; begin < bytes; begin += slot_bytes_) {
    int64_t length = std::min(slot_bytes_, bytes - begin);
    int slot = next_slot_;
    next_slot_ = (next_slot_ + 1) % num_slots;
    LF_CUDA(cudaEventSynchronize(slot_free_[slot]));
    char *stage = pinned_ + slot * slot_bytes_;
    std::memcpy(stage, static_cast<const char *>(host) + begin, static_cast<size_t>(length));
    LF_CUDA(cudaMemcpyAsync(static_cast<char *>(device) + begin, stage, static_cast<size_t>(length),
                            cudaMemcpyHostToDevice, compute()));
    LF_CUDA(cudaEventRecord(slot_free_[slot], compute()));
  }
}

void CudaDevice::reach_peers() {
  int devices = 0;
  LF_CUDA(cudaGetDeviceCount(&devices));
  for (int other = 0; other < devices; ++other) {
    int can = 0;
    if (other == ordinal_ || cudaDeviceCanAccessPeer(&can, ordinal_, other) != cudaSuccess || !can)
      continue;
    cudaError_t result = cudaDeviceEnablePeerAccess(other, 0);
    if (result == cudaErrorPeerAccessAlreadyEnabled)
      cudaGetLastError();
    else
      LF_CUDA(result);
  }
}

bool CudaDevice::holds(const void *p) const {
  cudaPointerAttributes attributes{};
  LF_CUDA(cudaPointerGetAttributes(&attributes, p));
  return attributes.type == cudaMemoryTypeDevice;
}

DeviceMemory::Mark CudaDevice::make_mark() { return make_event(); }

void CudaDevice::record(Mark mark, int32_t stream) {
  LF_CUDA(cudaEventRecord(static_cast<cudaEvent_t>(mark), this->stream(stream)));
}

void CudaDevice::wait(int32_t stream, Mark mark) {
  LF_CUDA(cudaStreamWaitEvent(this->stream(stream), static_cast<cudaEvent_t>(mark), 0));
}

void CudaDevice::copy(void *to, const void *from, int64_t bytes, int32_t stream) {
  LF_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, this->stream(stream)));
}

// ---- Messages -----------------------------------------------------------------------------------------------------

namespace {

struct CudaParcel final : DeviceMemory::Parcel {
  ~CudaParcel() override {
    cudaFree(data);
    for (cudaEvent_t event : {packed, unpacked})
      if (event)
        cudaEventDestroy(event);
  }
  void *data = nullptr;
  int64_t capacity = 0;
  cudaEvent_t packed = nullptr;   ///< of the sender's device
  cudaEvent_t unpacked = nullptr; ///< of the receiver's, once it has been there
};

} // namespace

std::unique_ptr<DeviceMemory::Parcel> CudaDevice::pack(std::unique_ptr<Parcel> used, const void *x, int64_t bytes) {
  std::unique_ptr<CudaParcel> parcel(static_cast<CudaParcel *>(used.release()));
  if (parcel && parcel->unpacked)
    LF_CUDA(cudaStreamWaitEvent(compute(), parcel->unpacked, 0));
  if (!parcel || parcel->capacity < bytes) {
    if (parcel) // its last reader may not be done
      LF_CUDA(cudaStreamSynchronize(compute()));
    parcel = std::make_unique<CudaParcel>();
    LF_CUDA(cudaMalloc(&parcel->data, static_cast<size_t>(bytes)));
    parcel->capacity = bytes;
    LF_CUDA(cudaEventCreateWithFlags(&parcel->packed, cudaEventDisableTiming));
  }
  copy(parcel->data, x, bytes, 0);
  LF_CUDA(cudaEventRecord(parcel->packed, compute()));
  return parcel;
}

void CudaDevice::unpack(Parcel &parcel, void *y, int64_t bytes) {
  CudaParcel &message = static_cast<CudaParcel &>(parcel);
  LF_CUDA(cudaStreamWaitEvent(compute(), message.packed, 0));
  copy(y, message.data, bytes, 0);
  if (!message.unpacked)
    LF_CUDA(cudaEventCreateWithFlags(&message.unpacked, cudaEventDisableTiming));
  LF_CUDA(cudaEventRecord(message.unpacked, compute()));
}

} // namespace lf::rt
