/* lf/scratch.h - what a rank on CUDA takes on its GPU beside its arenas, for the planner and for the runtime.
 *
 * Idea: one statement of these bytes: lf-compile puts them into lf_memory::staging, the runtime makes them when it opens
 * the device, and no kernel takes more. What is not counted is the driver's (lf/driver_memory.h).
 */
#ifndef LF_SCRATCH_H
#define LF_SCRATCH_H

#include <stdint.h>

#ifdef __cplusplus
namespace lf {

/// Messages that a channel of the sender holds from the start: one that is being sent, one that waits, one that is written.
constexpr int64_t message_places = 3;

/// Workspace of matrix products.
constexpr int64_t product_workspace = int64_t(32) << 20;

/// Least scratch of a rank: statistics of the rows and partial sums of the columns of norms, sums of squares.
constexpr int64_t least_scratch(int64_t tokens_of_micro_batch) {
  return tokens_of_micro_batch * 256 > (int64_t(16) << 20) ? tokens_of_micro_batch * 256 : int64_t(16) << 20;
}

/// Groups of kv heads that one call of the deterministic gradient of attention takes: as few as keep the statistics of
/// every call on 16 bytes.
constexpr int64_t deterministic_groups(int64_t g, int64_t r) {
  const int64_t groups = r % 4 == 0 ? 1 : r % 2 == 0 ? 2 : 4;
  return g % groups == 0 ? groups : g;
}

/// The gradient of attention in bfloat16 (sizes as in lf_attention), as measured with cuDNN 9.14 and 9.19: the row sums,
/// dq in float, and dk and dv of all query heads when heads share keys; deterministic, all scores in bfloat16 instead of
/// dq, of the groups of one call; lengths count in tiles of 128. The forward takes 256 bytes.
constexpr int64_t attention_grad_scratch(int64_t s, int64_t t, int64_t b, int64_t g, int64_t r, int64_t d,
                                         bool deterministic) {
  const int64_t heads = b * r * (deterministic ? deterministic_groups(g, r) : g);
  const int64_t rows = (s + 127) / 128 * 128, keys = (t + 127) / 128 * 128;
  return 2 * (heads * rows * 4) + heads * rows * (deterministic ? keys * 2 : d * 4) +
         (r > 1 ? heads * keys * d * 4 : 0) + (int64_t(1) << 20);
}

/// The gradient of a table: sorted keys and their places, the first key of each row, sums of 64 tokens each, the sort.
constexpr int64_t table_grad_scratch(int64_t tokens, int64_t rows, int64_t h) {
  return 4 * tokens * 4 + (rows + 1) * 4 + tokens / 64 * h * 4 + (int64_t(4) << 20);
}

} // namespace lf
#endif
#endif /* LF_SCRATCH_H */
