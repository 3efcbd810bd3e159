//===- device_cuda.cu - Between the memory of the device and the host -----===//
//
// Uploads go by pinned memory and do not wait; the sums of a step come back in one copy.
//
//===----------------------------------------------------------------------===//
#include "device.h"

#include "../device/cuda/cuda_device.h"
#include "../kernels/cuda/round.h"
#include "../kernels/cuda/square_sum.h"

namespace lf::rt {

void copy_to_host(lf_rank &c, void *host, const void *device, int64_t bytes) {
  if (bytes > 0)
    LF_CUDA(cudaMemcpyAsync(host, device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost, cuda(&c).compute()));
  finish(c, 0);
}

void copy_to_device(lf_rank &c, void *device, const void *host, int64_t bytes) { cuda(&c).upload(device, host, bytes); }

void zero_step_sums(lf_rank &c) { LF_CUDA(cudaMemsetAsync(cuda(&c).sums(), 0, sizeof(StepSums), cuda(&c).compute())); }

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

void read_step_sums(lf_rank &c) {
  StepSums sums{};
  copy_to_host(c, &sums, cuda(&c).sums(), sizeof sums);
  if (sums.fault == 1)
    throw Failure{4, "expected positions below " + std::to_string(sums.bound) + ", the rows of the table, got " +
                         std::to_string(sums.value) + "; use a smaller --seq-length"};
  c.step.loss_sum = sums.loss;
  c.step.count = sums.count;
  c.step.square_sum = sums.squares;
}

} // namespace lf::rt
