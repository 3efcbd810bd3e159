/* lf/sent_bytes.h - bytes that one rank sends in a call, for the planner and for the runtime's count of what was sent.
 *
 * Idea: what an ideal ring sends, whatever the back end does. Arguments: ranks of the group, elements as passed to the call of
 * runtime.h, bytes of an element.
 */
#ifndef LF_SENT_BYTES_H
#define LF_SENT_BYTES_H

#include <stdint.h>

#ifdef __cplusplus
namespace lf {

/// all_gather, reduce_scatter and all_to_all: a part for each other rank.
constexpr int64_t parts_bytes(int64_t n, int64_t count, int64_t size) { return (n - 1) * count * size; }
/// all_reduce: the halves of it are a reduce_scatter and an all_gather.
constexpr int64_t all_reduce_bytes(int64_t n, int64_t count, int64_t size) { return 2 * (n - 1) * count * size / n; }

/// Doubles that all ranks add up at the end of a step: loss, count, square sum, the wish to stop.
constexpr int64_t sums_of_step = 4;
/// And of each depth of multi-token prediction: loss, count.
constexpr int64_t sums_of_depth = 2;

} // namespace lf
#endif
#endif /* LF_SENT_BYTES_H */
