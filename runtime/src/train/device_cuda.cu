//===- device_cuda.cu - Between the memory of the device and the host -----===//
//
// Uploads go by pinned memory and do not wait.
//
//===----------------------------------------------------------------------===//
#include "device.h"

#include "../device/cuda/cuda_device.h"
#include "../kernels/cuda/round.h"
#include "../kernels/cuda/square_sum.h"

#include <cstddef>

namespace lf::rt {

void copy_to_host(lf_rank &c, void *host, const void *device, int64_t bytes) {
  cuda(&c).host_decides("the host reads what the step computes");
  if (bytes > 0)
    LF_CUDA(cudaMemcpyAsync(host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, cuda(&c).compute()));
  finish(c, 0);
}

void copy_to_device(lf_rank &c, void *device, const void *host, int64_t bytes) { cuda(&c).upload(device, host, bytes); }

void zero_step_sums(lf_rank &c) {
  StepSums *sums = cuda(&c).sums();
  constexpr size_t kept = offsetof(StepSums, loss);
  LF_CUDA(cudaMemsetAsync(reinterpret_cast<char *>(sums) + kept, 0, sizeof *sums - kept, cuda(&c).compute()));
}

void keep_load(lf_rank &c, std::function<void()> load) { cuda(&c).replay.keep_load(std::move(load)); }

void round_parameters(lf_rank &c, int64_t offset, int64_t count) {
  if (c.program->dtype == LF_BF16)
    round_to_real(&c, "parameters", static_cast<const float *>(lf_arena(&c, LF_MASTER)) + offset,
                  static_cast<__nv_bfloat16 *>(lf_arena(&c, LF_PARAMETERS)) + offset, count);
}

static __global__ void add_loss_kernel(StepSums *sums, const float *loss_sum, const float *count) {
  sums->loss += static_cast<double>(*loss_sum);
  sums->count += static_cast<double>(*count);
}

void add_loss(lf_rank &c, const void *loss_sum, const void *count) {
  add_loss_kernel<<<1, 1, 0, cuda(&c).compute()>>>(cuda(&c).sums(), static_cast<const float *>(loss_sum),
                                                   static_cast<const float *>(count));
  LF_LAUNCHED("loss");
}

void add_squares(lf_rank &c, const void *x, int64_t count) { add_square_sum(&c, x, count, &cuda(&c).sums()->squares); }

} // namespace lf::rt
