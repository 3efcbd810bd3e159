// clock.h - when work ran on a GPU, in the time of the host.
//
// Idea: a timing event before and after each operation of a traced run; one of them is tied to the host's clock.
#pragma once

#include "rank.h"
#include "trace.h"

#include <cuda_runtime.h>

#include <map>

namespace lf::rt {

class CudaClock final : public DeviceClock {
public:
  /// Waits for the compute stream of the rank.
  explicit CudaClock(lf_rank &);
  ~CudaClock() override;
  CudaClock(const CudaClock &) = delete;
  CudaClock &operator=(const CudaClock &) = delete;

  void mark(uint64_t sequence, bool end, int32_t stream) override;
  void resolve(std::vector<TraceEntry> &log) override;

private:
  cudaEvent_t record(int32_t stream);
  lf_rank &c_;
  int64_t origin_ns_ = 0; ///< of the host, when the origin happened
  cudaEvent_t origin_ = nullptr;
  std::map<std::pair<uint64_t, bool>, cudaEvent_t> marks_; ///< by entry and end
};

} // namespace lf::rt
