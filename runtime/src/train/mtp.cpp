//===- mtp.cpp - Losses of multi-token prediction -------------------------===//
//
// See mtp.h.
//
//===----------------------------------------------------------------------===//
#include "mtp.h"

#include "../comm/comm.h"
#include "../comm/mesh.h"
#include "device.h"
#include "real.h"
#include "step_sums.h"

namespace lf::rt {

double labels_of_step(const lf_program &program, int64_t shift) {
  int64_t samples = program.micro_batch * program.micro_batches * group_size(program, program.dp);
  return static_cast<double>(samples * std::max<int64_t>(0, program.seq_length - shift));
}

void zero_depth_losses(lf_rank &c) {
  for (int32_t depth = 0; depth < LF_MAX_DEPTHS; ++depth)
    c.step.depth_loss_sum[depth] = c.step.depth_count[depth] = 0.0;
}

void finish_depth_losses(lf_rank &c) {
  int32_t depths = c.program->mtp_depths;
  if (depths == 0)
    return;
  std::vector<double> sums(c.step.depth_loss_sum, c.step.depth_loss_sum + depths);
  sums.insert(sums.end(), c.step.depth_count, c.step.depth_count + depths);
  c.comms[static_cast<size_t>(c.program->world_comm)]->all_reduce("losses of multi-token prediction", sums.data(),
                                                                  sums.data(), 2 * depths, LF_F64, LF_SUM);
  count_sums(c, sums_of_depth * depths);
  c.step.mtp_loss.clear();
  for (size_t depth = 0, n = static_cast<size_t>(depths); depth < n; ++depth)
    c.step.mtp_loss.push_back(sums[depth] / std::max(1.0, sums[n + depth]));
}

} // namespace lf::rt

using namespace lf::rt;

extern "C" void lf_add_depth_loss(lf_rank *c, int32_t depth, const void *loss_sum, const void *count, int32_t counted) {
  if (!counted)
    return;
  with_real(*c->program, [&](auto real) {
    decltype(real) values[2];
    copy_to_host(*c, &values[0], loss_sum, sizeof real);
    copy_to_host(*c, &values[1], count, sizeof real);
    c->step.depth_loss_sum[depth] += static_cast<double>(values[0]);
    c->step.depth_count[depth] += static_cast<double>(values[1]);
  });
}

extern "C" void lf_depth_weight(lf_rank *c, const char *what, const void *dy, void *dx, int32_t depth, double share) {
  (void)what;
  double weight = share * labels_of_step(*c->program, 0) / std::max(1.0, labels_of_step(*c->program, depth + 1));
  with_real(*c->program, [&](auto real) {
    copy_to_host(*c, &real, dy, sizeof real);
    real = static_cast<decltype(real)>(static_cast<double>(real) * weight);
    copy_to_device(*c, dx, &real, sizeof real);
  });
}
