// cuda_device.h - the GPU of one rank: streams, events, libraries, scratch, staging.
//
// Idea: everything that a step needs beside the arenas is made when the device is opened. Invariant: only the rank's
// own thread uses it, and that thread's current device is this one.
#pragma once

#include "comm/device_memory.h"
#include "device/cuda/check.h"
#include "device/cuda/replay.h"
#include "lf/scratch.h"
#include "rank.h"

#include <functional>
#include <vector>

namespace lf::rt {

/// What the host gives a step besides its tokens.
struct StepControl {
  double lr, rate, root; ///< rate: lr / (1 - beta1^t); root: 1 / sqrt(1 - beta2^t)
  double clip, stop;     ///< stop 1: this rank was told to stop
};

/// The sums of a step, on the device and on the host.
struct StepSums {
  StepControl control;
  double all[4]; ///< loss, labels, squares of the gradients, wishes to stop: of all ranks
  double scale;  ///< of the gradients in the update
  int32_t finite, unused_;
  // What follows is zeroed when a step begins.
  double loss, count, squares, other;  ///< `other`: of square_sum, outside a step
  int32_t fault, value, bound, unused; ///< fault 1: position `value` is not below `bound`
};

class CudaDevice final : public DeviceMemory {
public:
  /// Opens device `ordinal` with `num_streams` streams. `staging` is the largest copy to the device that is common.
  CudaDevice(int32_t ordinal, int32_t num_streams, int64_t staging, int64_t scratch);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  int32_t ordinal() const { return ordinal_; }
  cudaStream_t stream(int32_t i) const { return streams_[static_cast<size_t>(i)]; }
  cudaStream_t compute() const { return streams_[0]; }
  StepSums *sums() const { return sums_; }
  cublasLtHandle_t blas() const { return blas_; }
  void *workspace() const { return workspace_; }
  StepControl &control() const { return pinned_step_->control; } ///< pinned; read by the device at the step's beginning
  StepSums &results() const { return *pinned_step_; }            ///< pinned; written at its end
  Replay replay;
  static constexpr int64_t workspace_bytes = product_workspace; ///< of matrix products
  std::shared_ptr<void> products;                               ///< what kernels/cuda/matmul.cpp knows of shapes
  std::shared_ptr<void> attention;                              ///< what kernels/cuda/cudnn_attention.cpp does
  bool deterministic = false;                                   ///< the same bits in every run, where that costs time

  /// Memory for what one kernel call of the compute stream keeps between its launches. Made at start, as the program
  /// states it (lf_memory::staging); a call that needs more makes it grow.
  template <class T> T *scratch(int64_t count) { return static_cast<T *>(scratch_bytes(count * int64_t(sizeof(T)))); }
  int64_t scratch_size() const { return scratch_size_; } ///< bytes that it has now

  void record_event(lf_event, int32_t stream, int64_t step);
  void wait_event(int32_t stream, lf_event);

  /// Copies by way of pinned memory; returns when `host` may be reused.
  void upload(void *device, const void *host, int64_t bytes);
  /// Returns when all that was issued on the stream, `name`, is done; calls `poll` now and then. Throws Failure 5 after
  /// `timeout` seconds, naming `at`.
  static void finish(cudaStream_t, const std::string &name, double timeout, const Where &at,
                     const std::function<void()> &poll);

  /// A range of NVTX on this thread, until the next one.
  void name_range(const char *);
  /// Bytes of the device beside the arenas: workspace, scratch, sums, places of messages.
  int64_t allocated() const {
    return workspace_bytes + scratch_size_ + static_cast<int64_t>(sizeof(StepSums)) + message_bytes_;
  }
  void count_message_place(int64_t bytes) { message_bytes_ += bytes; }

  void host_decides(const char *why) override { replay.host_decides(why); }
  void reach_peers() override;
  bool holds(const void *) const override;
  Mark make_mark() override;
  void record(Mark, int32_t stream) override;
  void wait(int32_t stream, Mark) override;
  void copy(void *to, const void *from, int64_t bytes, int32_t stream) override;
  void reduce(const void *const *xs, int32_t n, void *y, int64_t count, lf_dtype, lf_reduction,
              int32_t stream) override;
  std::unique_ptr<Parcel> pack(std::unique_ptr<Parcel> used, const void *x, int64_t bytes) override;
  void unpack(Parcel &, void *y, int64_t bytes) override;

private:
  static constexpr int num_slots = 4;
  void *scratch_bytes(int64_t bytes);
  cudaEvent_t make_event();

  int32_t ordinal_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_; ///< all that are ours, for the end
  std::vector<cudaEvent_t> ring_;   ///< of lf_record: one for each record of a step, used again by the next step
  lf_event first_event_ = 0;        ///< the step's first
  int64_t event_step_ = -1;
  bool ranged_ = false;             ///< a range of NVTX is open
  cublasLtHandle_t blas_ = nullptr;
  void *workspace_ = nullptr, *scratch_ = nullptr;
  int64_t scratch_size_ = 0, message_bytes_ = 0;
  StepSums *sums_ = nullptr, *pinned_step_ = nullptr;
  char *pinned_ = nullptr;
  int64_t slot_bytes_ = 0;
  cudaEvent_t slot_free_[num_slots] = {};
  int next_slot_ = 0;
};

inline CudaDevice &cuda(const lf_rank *c) { return static_cast<CudaDevice &>(*c->device); }

/// Waits for all that was issued on a stream of the rank, hearing of other ranks' failures meanwhile.
void finish(lf_rank &, int32_t stream);
void finish(lf_rank &, cudaStream_t, const std::string &name);

/// Sets loss_sum, count and square_sum of lf_rank::step, this rank's own, when the device is done. Throws Failure 4 when a
/// kernel of the step found its data out of range.
void read_step_sums(lf_rank &);

/// Bytes on the device beside the arenas that open_device takes for one rank of the program.
int64_t device_overhead(const lf_program &, int32_t pp);

} // namespace lf::rt
