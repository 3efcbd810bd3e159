//===- load_batch.cpp - lf_load_batch -------------------------------------===//
//
// Puts this rank's part of one micro-batch on the device: columns are samples, rows this rank's stretch of the
// sequence.
//
//===----------------------------------------------------------------------===//
#include "../rank.h"
#include "../train/device.h"
#include "token_source.h"

extern "C" void lf_load_batch(lf_rank *c, int32_t micro_batch, int32_t *ids, int32_t *labels, int32_t *positions) {
  using namespace lf::rt;
  const lf_program &p = *c->program;
  int64_t cp = 1, dp = 1;
  for (int32_t a = 0; a < p.num_axes; ++a) {
    cp *= p.cp >> a & 1 ? p.axes[a].size : 1;
    dp *= p.dp >> a & 1 ? p.axes[a].size : 1;
  }
  int64_t columns = p.micro_batch, rows = p.seq_length / cp, first = lf_coordinate(c, p.cp) * rows;
  int64_t sample = c->step.consumed + micro_batch * columns * dp + lf_coordinate(c, p.dp) * columns;
  std::vector<int32_t> host;
  if (ids || labels) {
    std::vector<int32_t> tokens(static_cast<size_t>(p.seq_length + 1));
    host.resize(static_cast<size_t>(2 * rows * columns));
    int32_t *inputs = host.data(), *targets = inputs + rows * columns;
    for (int64_t b = 0; b < columns; ++b) {
      c->tokens->read(sample + b, tokens.data());
      for (int64_t s = 0; s < rows; ++s) {
        inputs[s * columns + b] = tokens[static_cast<size_t>(first + s)];
        targets[s * columns + b] = tokens[static_cast<size_t>(first + s + 1)];
      }
    }
    if (ids)
      copy_to_device(*c, ids, inputs, rows * columns * 4);
    if (labels)
      copy_to_device(*c, labels, targets, rows * columns * 4);
  }
  if (positions) {
    host.resize(static_cast<size_t>(p.seq_length));
    for (int64_t s = 0; s < p.seq_length; ++s)
      host[static_cast<size_t>(s)] = static_cast<int32_t>(s);
    copy_to_device(*c, positions, host.data(), p.seq_length * 4);
  }
}
