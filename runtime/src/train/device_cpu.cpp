//===- device_cpu.cpp - Between the memory of the device and the host -----===//
//
// On the cpu they are the same memory.
//
//===----------------------------------------------------------------------===//
#include "device.h"

#include "../kernels/kernels.h"
#include "../comm/comm.h"
#include "real.h"
#include "../signals.h"
#include "step_sums.h"

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

void finish_step_sums(lf_rank &c) {
  double sums[4] = {c.step.loss_sum, c.step.count, c.step.square_sum, stop_wanted() || c.step.stop_asked ? 1.0 : 0.0};
  c.comms[static_cast<size_t>(c.program->world_comm)]->all_reduce("loss, count, square sum", sums, sums, 4, LF_F64,
                                                                  LF_SUM);
  count_sums(c, sums_of_step);
  c.step.count = sums[1];
  accept_sums(c, sums, c.step.step + 1);
}

double labels_of_sums(lf_rank &c) { return c.step.count; }

void update_parameters(lf_rank &c, int64_t offset, int64_t count, const AdamwParameters &constants) {
  AdamwParameters a = constants;
  a.lr = c.step.lr;
  a.grad_scale = c.step.grad_scale;
  a.step = c.step.step + 1;
  with_real(*c.program, [&](auto real) {
    using Real = decltype(real);
    auto at = [&](lf_arena_kind kind) { return static_cast<Real *>(lf_arena(&c, kind)) + offset; };
    adamw(&c, at(LF_MASTER), nullptr, at(LF_GRADIENTS), at(LF_MOMENT1), at(LF_MOMENT2), count, a);
  });
}

void keep_load(lf_rank &, std::function<void()>) {} // nothing is recorded

void rehearse(lf_rank &) {}

void run_step(lf_rank &c) { c.program->step(&c); }

} // namespace lf::rt
