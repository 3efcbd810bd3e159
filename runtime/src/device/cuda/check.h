// check.h - a failing CUDA call becomes a Failure with call, file, line and rank.
//
// Idea: work fails where it runs, not where it was issued, so every message also says what the rank was doing.
// Invariant: nothing here throws while a rank is being torn down; destructors ignore results.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace lf::rt {

/// The rank of the calling thread, for messages; set by open_device.
void name_thread(int32_t rank);

/// Throw Failure 3 when the device has no memory left, else Failure 5: "cudaMalloc(...) at context.cu:12 on rank 3:
/// ...".
void check_cuda(cudaError_t, const char *call, const char *file, int line);
void check_blas(cublasStatus_t, const char *call, const char *file, int line);

} // namespace lf::rt

#define LF_CUDA(call) ::lf::rt::check_cuda((call), #call, __FILE__, __LINE__)
#define LF_BLAS(call) ::lf::rt::check_blas((call), #call, __FILE__, __LINE__)
/// After a launch: the kernel that could not be started.
#define LF_LAUNCHED(kernel) ::lf::rt::check_cuda(cudaGetLastError(), kernel, __FILE__, __LINE__)
