//===- load_batch.cpp - lf_load_batch, lf_load_shifted --------------------===//
//
// Puts this rank's part of one micro-batch on the device: columns are samples, rows this rank's stretch of the
// sequence.
//
//===----------------------------------------------------------------------===//
#include "../rank.h"
#include "../train/device.h"
#include "token_source.h"

#include <numeric>

namespace {

using namespace lf::rt;

void load_tokens(lf_rank *c, int32_t micro_batch, int32_t shift, int32_t *ids, int32_t *labels) {
  const lf_program &p = *c->program;
  int64_t cp = 1, dp = 1;
  for (int32_t a = 0; a < p.num_axes; ++a) {
    cp *= p.cp >> a & 1 ? p.axes[a].size : 1;
    dp *= p.dp >> a & 1 ? p.axes[a].size : 1;
  }
  int64_t columns = p.micro_batch, rows = p.seq_length / cp, first = lf_coordinate(c, p.cp) * rows;
  int64_t sample = c->step.consumed + micro_batch * columns * dp + lf_coordinate(c, p.dp) * columns;
  std::vector<int32_t> tokens(static_cast<size_t>(p.seq_length + 1));
  std::vector<int32_t> host(static_cast<size_t>(2 * rows * columns));
  int32_t *inputs = host.data(), *targets = inputs + rows * columns;
  for (int64_t b = 0; b < columns; ++b) {
    c->tokens->read(sample + b, tokens.data());
    for (int64_t s = 0; s < rows; ++s) {
      int64_t at = first + s + shift;
      bool inside = at < p.seq_length;
      inputs[s * columns + b] = inside ? tokens[static_cast<size_t>(at)] : 0;
      targets[s * columns + b] = inside ? tokens[static_cast<size_t>(at + 1)] : -1;
    }
  }
  if (ids)
    copy_to_device(*c, ids, inputs, rows * columns * 4);
  if (labels)
    copy_to_device(*c, labels, targets, rows * columns * 4);
}

void load_positions(lf_rank *c, int32_t *positions) {
  int64_t length = c->program->seq_length;
  std::vector<int32_t> host(static_cast<size_t>(length));
  std::iota(host.begin(), host.end(), 0);
  copy_to_device(*c, positions, host.data(), length * 4);
}

template <class Load> void load_and_keep(lf_rank *c, Load load) {
  load();
  keep_load(*c, load);
}

} // namespace

extern "C" void lf_load_batch(lf_rank *c, int32_t micro_batch, int32_t *ids, int32_t *labels, int32_t *positions) {
  load_and_keep(c, [=] {
    if (ids || labels)
      load_tokens(c, micro_batch, 0, ids, labels);
    if (positions)
      load_positions(c, positions);
  });
}

extern "C" void lf_load_shifted(lf_rank *c, int32_t micro_batch, int32_t shift, int32_t *ids, int32_t *labels) {
  load_and_keep(c, [=] { load_tokens(c, micro_batch, shift, ids, labels); });
}
