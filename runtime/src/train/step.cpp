//===- step.cpp - The calls that frame one training step ------------------===//
//
// The gradient arena holds the gradient of the sum of the loss; one all-reduce of four doubles makes loss, norm, clip
// factor and the wish to stop the same on every rank, and the update applies clip / count in passing.
//
//===----------------------------------------------------------------------===//
#include "../comm/comm.h"
#include "device.h"
#include "export.h"
#include "mtp.h"
#include "options.h"
#include "real.h"
#include "region_norm.h"

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
  add_region_squares(*c);
  finish_step_sums(*c);
  finish_depth_losses(*c);
  if (!c->options->dump_gradients.empty() && c->step.step == c->step.first)
    dump_gradients(*c, c->options->dump_gradients, 1.0 / labels_of_sums(*c));
}

extern "C" void lf_adamw(lf_rank *c, const char *what, int64_t offset, int64_t count, int32_t decay) {
  (void)what;
  const Options &o = *c->options;
  AdamwParameters a;
  a.beta1 = o.beta1;
  a.beta2 = o.beta2;
  a.eps = o.eps;
  a.weight_decay = decay ? o.weight_decay : 0.0;
  update_parameters(*c, offset, count, a);
}

extern "C" void lf_end_step(lf_rank *c) {
  c->transport->check_no_posts();
  int64_t dp = 1;
  for (int32_t a = 0; a < c->program->num_axes; ++a)
    dp *= c->program->dp >> a & 1 ? c->program->axes[a].size : 1;
  c->step.consumed += c->program->micro_batch * c->program->micro_batches * dp;
  ++c->step.step;
}
