// check.cpp - the words of a failing CUDA call.
#include "device/cuda/check.h"

#include "rank.h"

#include <cstring>

namespace lf::rt {

static thread_local int32_t thread_rank = -1;

void name_thread(int32_t rank) { thread_rank = rank; }

static std::string place(const char *call, const char *file, int line) {
  const char *slash = std::strrchr(file, '/');
  std::string text = std::string(call) + " at " + (slash ? slash + 1 : file) + ":" + std::to_string(line);
  return thread_rank < 0 ? text : text + " on rank " + std::to_string(thread_rank);
}

void check_cuda(cudaError_t result, const char *call, const char *file, int line) {
  if (result == cudaSuccess)
    return;
  cudaGetLastError(); // an error that is not sticky must not meet the next call
  bool memory = result == cudaErrorMemoryAllocation;
  throw Failure{memory ? 3 : 5, "expected success of " + place(call, file, line) + ", got \"" +
                                    cudaGetErrorString(result) + "\" (" + cudaGetErrorName(result) + ")" +
                                    (memory ? "; use more ranks, a smaller micro-batch or recompute" : "")};
}

void check_blas(cublasStatus_t result, const char *call, const char *file, int line) {
  if (result != CUBLAS_STATUS_SUCCESS)
    throw Failure{5, "expected success of " + place(call, file, line) + ", got cuBLAS status " +
                         std::to_string(static_cast<int>(result)) + " (" + cublasLtGetStatusName(result) + ")"};
}

} // namespace lf::rt
