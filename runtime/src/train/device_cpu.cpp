//===- device_cpu.cpp - Between the memory of the device and the host -----===//
//
// On the cpu they are the same memory.
//
//===----------------------------------------------------------------------===//
#include "device.h"

#include "../kernels/kernels.h"
#include "real.h"

#include <cstring>

namespace lf::rt {

void copy_to_host(lf_rank &, void *host, const void *device, int64_t bytes) {
  std::memcpy(host, device, static_cast<size_t>(bytes));
}

void copy_to_device(lf_rank &, void *device, const void *host, int64_t bytes) {
  std::memcpy(device, host, static_cast<size_t>(bytes));
}

void round_parameters(lf_rank &, int64_t, int64_t) {} // open_device refuses bfloat16

void zero_step_sums(lf_rank &c) { c.step.loss_sum = c.step.count = c.step.square_sum = 0.0; }

void add_loss(lf_rank &c, const void *loss_sum, const void *count) {
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    c.step.loss_sum += static_cast<double>(*static_cast<const Real *>(loss_sum));
    c.step.count += static_cast<double>(*static_cast<const Real *>(count));
  });
}

void add_squares(lf_rank &c, const void *x, int64_t count) { c.step.square_sum += square_sum(&c, x, count); }

void read_step_sums(lf_rank &) {}

} // namespace lf::rt
