//===- mtp.h - Losses of multi-token prediction ---------------------------===//
//
// Each depth has a loss sum and a count of its own; neither is part of `loss`. docs/rationale/mtp.md says why the
// weight of a depth is a number of the step.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "../rank.h"

namespace lf::rt {

/// Labels of the global batch of a step that count when they are shifted by `shift` tokens: every label counts but
/// those past the end of a sample. The one place to change when data learns to mask labels.
double labels_of_step(const lf_program &, int64_t shift);

/// Forgets the sums of the step before.
void zero_depth_losses(lf_rank &);
/// Sums over all ranks, and sets step.mtp_loss: the mean of each depth. Does nothing without depths.
void finish_depth_losses(lf_rank &);

} // namespace lf::rt
