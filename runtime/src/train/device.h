//===- device.h - Between the memory of the device and the host -----------===//
//
// The training loop touches device memory only through these; each target defines them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../kernels/kernels.h"
#include "lf/runtime.h"

#include <cstdint>
#include <functional>

namespace lf::rt {

/// Returns when the copy is complete; it sees what was issued before it on the compute stream.
void copy_to_host(lf_rank &, void *host, const void *device, int64_t bytes);
/// Returns when `host` may be reused; what is issued on the compute stream from now on sees the copy.
void copy_to_device(lf_rank &, void *device, const void *host, int64_t bytes);

/// Makes parameters [offset, offset + count) of a bfloat16 program the rounded master weights; nothing to do in others.
void round_parameters(lf_rank &, int64_t offset, int64_t count);

/// Makes everything that a first step would make (libraries' plans, kernels' code, events), so that none is made when other
/// ranks wait: a device of its own runs the step once, with no other rank and nothing counted. Arenas are zero afterwards; data
/// is open, nothing is loaded yet. Throws what a step throws.
void rehearse(lf_rank &);

/// Runs one step of the program: loss, grad_norm and stop of lf_rank::step are valid when it returns. Throws what the
/// step throws; Failure 6 when loss or gradient norm is not finite, and then no parameter was changed.
void run_step(lf_rank &);

/// `load` has just put tokens of this step on the device by copy_to_device: a device that repeats a recorded step calls it
/// again before each repetition.
void keep_load(lf_rank &, std::function<void()> load);

/// The sums of this rank's step: they stay on the device until they are finished.
void zero_step_sums(lf_rank &);
/// Adds one micro-batch's; each is one main on the device.
void add_loss(lf_rank &, const void *loss_sum, const void *count);
/// Adds the squares of x[count], a run of an arena.
void add_squares(lf_rank &, const void *x, int64_t count);
/// Sums them over all ranks, and makes of them what the update needs: the scale of the gradients.
void finish_step_sums(lf_rank &);
/// The number of labels of the step, after finish_step_sums; waits for the device.
double labels_of_sums(lf_rank &);
/// AdamW over elements [offset, offset + count) of the arenas, with the step's rate and scale; of `a` the constants count.
void update_parameters(lf_rank &, int64_t offset, int64_t count, const AdamwParameters &a);

} // namespace lf::rt
