//===- step_sums.cpp - Loss, norm and scale of a step ---------------------===//
//
// See step_sums.h.
//
//===----------------------------------------------------------------------===//
#include "step_sums.h"

#include "../comm/comm.h"
#include "../comm/traffic.h"
#include "options.h"
#include "../text.h"

#include <cmath>

namespace lf::rt {

void accept_sums(lf_rank &c, const double sums[4], int64_t number_of_step) {
  StepState &s = c.step;
  s.loss = sums[0] / sums[1];
  s.grad_norm = std::sqrt(sums[2]) / sums[1];
  s.stop = sums[3] > 0;
  if (!std::isfinite(s.loss) || !std::isfinite(s.grad_norm))
    throw Failure{6, "step " + std::to_string(number_of_step) + ": expected a finite " +
                         (std::isfinite(s.loss) ? "gradient norm" : "loss") + ", got loss " + number(s.loss) +
                         " and gradient norm " + number(s.grad_norm) +
                         "; no parameter was updated by this step; lower --lr or resume from an earlier checkpoint"};
  s.grad_scale = scale_of(c.options->clip, s.grad_norm, sums[1]);
}

void count_sums(lf_rank &c, int64_t doubles) {
  const Communicator &world = *c.comms[static_cast<size_t>(c.program->world_comm)];
  if (world.size() > 1)
    c.traffic->add(world.name(), OpKind::AllReduce,
                   bytes_sent(OpKind::AllReduce, world.size(), doubles, dtype_size(LF_F64)));
}

} // namespace lf::rt
