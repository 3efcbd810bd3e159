//===- device.h - Between the memory of the device and the host -----------===//
//
// The training loop touches device memory only through these; each target defines them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lf/runtime.h"

#include <cstdint>

namespace lf::rt {

/// Returns when the copy is complete; it sees what was issued before it on the compute stream.
void copy_to_host(lf_rank &, void *host, const void *device, int64_t bytes);
/// Returns when `host` may be reused; what is issued on the compute stream from now on sees the copy.
void copy_to_device(lf_rank &, void *device, const void *host, int64_t bytes);

/// Makes parameters [offset, offset + count) of a bfloat16 program the rounded master weights; nothing to do in others.
void round_parameters(lf_rank &, int64_t offset, int64_t count);

/// The sums of this rank's step: they stay on the device until read_step_sums puts them into lf_rank::step.
void zero_step_sums(lf_rank &);
/// Adds one micro-batch's; each is one main on the device.
void add_loss(lf_rank &, const void *loss_sum, const void *count);
/// Adds the squares of x[count], a run of an arena.
void add_squares(lf_rank &, const void *x, int64_t count);
/// Sets loss_sum, count and square_sum. Throws Failure 4 when a kernel of the step found its data out of range.
void read_step_sums(lf_rank &);

} // namespace lf::rt
