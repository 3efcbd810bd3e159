//===- step.cpp - The calls that frame one training step ------------------===//
//
// The gradient arena holds the gradient of the sum of the loss; one all-reduce of four doubles makes loss, norm, clip
// factor and the wish to stop the same on every rank, and the update applies clip / count in passing.
//
//===----------------------------------------------------------------------===//
#include "../comm/comm.h"
#include "../kernels/kernels.h"
#include "device.h"
#include "export.h"
#include "mtp.h"
#include "options.h"
#include "real.h"
#include "region_norm.h"
#include "signals.h"
#include "text.h"

#include <algorithm>
#include <cmath>

using namespace lf::rt;

extern "C" void lf_begin_step(lf_rank *c) {
  zero_depth_losses(*c);
  zero_step_sums(*c);
  with_real(*c->program, [&](auto real) {
    lf_zero(c, "gradients", lf_arena(c, LF_GRADIENTS),
            c->arena_bytes[LF_GRADIENTS] / static_cast<int64_t>(sizeof real), main_dtype(*c->program));
  });
}

extern "C" void lf_add_loss(lf_rank *c, const void *loss_sum, const void *count, int32_t counted) {
  if (counted)
    add_loss(*c, loss_sum, count);
}

extern "C" void lf_finish_gradients(lf_rank *c) {
  StepState &s = c->step;
  add_region_squares(*c);
  read_step_sums(*c);
  double sums[4] = {s.loss_sum, s.count, s.square_sum, stop_wanted() ? 1.0 : 0.0};
  c->comms[static_cast<size_t>(c->program->world_comm)]->all_reduce("loss, count, square sum", sums, sums, 4, LF_F64,
                                                                    LF_SUM);
  s.loss = sums[0] / sums[1];
  s.grad_norm = std::sqrt(sums[2]) / sums[1];
  finish_depth_losses(*c);
  s.stop = sums[3] > 0;
  if (!std::isfinite(s.loss) || !std::isfinite(s.grad_norm))
    throw Failure{6, "step " + std::to_string(s.step + 1) + ": expected a finite " +
                         (std::isfinite(s.loss) ? "gradient norm" : "loss") + ", got loss " + number(s.loss) +
                         " and gradient norm " + number(s.grad_norm) +
                         "; no parameter was updated by this step; lower --lr or resume from an earlier checkpoint"};
  double clip = c->options->clip;
  s.grad_scale = (clip > 0 ? std::min(1.0, clip / (s.grad_norm + 1e-6)) : 1.0) / sums[1];
  if (!c->options->dump_gradients.empty() && s.step == s.first)
    dump_gradients(*c, c->options->dump_gradients, 1.0 / sums[1]);
}

extern "C" void lf_adamw(lf_rank *c, const char *what, int64_t offset, int64_t count, int32_t decay) {
  (void)what;
  const Options &o = *c->options;
  AdamwParameters a;
  a.lr = c->step.lr;
  a.beta1 = o.beta1;
  a.beta2 = o.beta2;
  a.eps = o.eps;
  a.weight_decay = decay ? o.weight_decay : 0.0;
  a.grad_scale = c->step.grad_scale;
  a.step = c->step.step + 1;
  with_real(*c->program, [&](auto real) {
    using Real = decltype(real);
    auto at = [&](lf_arena_kind kind) { return static_cast<Real *>(lf_arena(c, kind)) + offset; };
    void *rounded = static_cast<char *>(lf_arena(c, LF_PARAMETERS)) + offset * dtype_size(c->program->dtype);
    adamw(c, at(LF_MASTER), rounded, at(LF_GRADIENTS), at(LF_MOMENT1), at(LF_MOMENT2), count, a);
  });
}

extern "C" void lf_end_step(lf_rank *c) {
  c->transport->check_no_posts();
  int64_t dp = 1;
  for (int32_t a = 0; a < c->program->num_axes; ++a)
    dp *= c->program->dp >> a & 1 ? c->program->axes[a].size : 1;
  c->step.consumed += c->program->micro_batch * c->program->micro_batches * dp;
  ++c->step.step;
}
