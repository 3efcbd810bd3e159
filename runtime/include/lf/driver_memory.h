/* lf/driver_memory.h - what CUDA's driver, its libraries and NCCL take of a GPU beside what lf allocates: estimates, for the
 * planner and for the runtime.
 *
 * Idea: none of them says it ahead, so it was measured: on an H200, driver 580, CUDA 13.0, with kernels loaded when they are
 * first used. The communicators are made with as many thread blocks as stated here, for each of which NCCL keeps about 20 MiB.
 */
#ifndef LF_DRIVER_MEMORY_H
#define LF_DRIVER_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
namespace lf {

/// The context, kernels of lf, cuBLASLt and cuDNN, and a graph.
constexpr int64_t context_memory = int64_t(560) << 20;

/// Thread blocks of the communicators of sums and of a channel of messages, which move little or need not be fast.
constexpr int32_t sums_blocks = 1, channel_blocks = 8;

/// NCCL in a rank of several, one rank a GPU: its kernels, two small communicators of all ranks, `groups` others of more
/// than one rank, which take as many thread blocks as NCCL likes (24 between two H200), and `channels` of messages. Beside it
/// at most 17 MiB of each group for arrays of the host.
constexpr int64_t nccl_memory(int64_t groups, int64_t channels) {
  return (378 + 32 + 484 * groups + 70 * channels) << 20;
}

} // namespace lf
#endif
#endif /* LF_DRIVER_MEMORY_H */
