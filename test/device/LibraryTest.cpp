// LibraryTest.cpp - libraries that are opened when needed; runs without a GPU.
#include "device/cuda/library.h"
#include "rank.h"

#include <cublasLt.h>
#include <nccl.h>

#include <gtest/gtest.h>

using lf::rt::library_function;

TEST(Library, CallsGoThrough) {
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, 8, 16, 8), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescDestroy(product), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_STREQ(ncclGetErrorString(ncclInvalidArgument), "invalid argument (run with NCCL_DEBUG=WARN for details)");
}

TEST(Library, HasEveryFunctionThatIsCalled) {
  for (const char *name : {"cublasLtCreate", "cublasLtDestroy", "cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic",
                           "cublasLtMatmulPreferenceSetAttribute"})
    EXPECT_NO_THROW(library_function("libcublasLt.so.13", "the CUDA Toolkit 13", name)) << name;
  for (const char *name :
       {"ncclAllGather", "ncclAllReduce", "ncclBroadcast", "ncclCommAbort", "ncclCommDestroy", "ncclCommGetAsyncError",
        "ncclCommInitRankConfig", "ncclCommSplit", "ncclGetLastError", "ncclGetUniqueId", "ncclGroupEnd", "ncclGroupStart",
        "ncclRecv", "ncclReduceScatter", "ncclSend"})
    EXPECT_NO_THROW(library_function("libnccl.so.2", "NCCL", name)) << name;
}

static std::string refusal(const char *file, const char *name) {
  try {
    library_function(file, "the package", name);
  } catch (const lf::rt::Failure &failure) {
    EXPECT_EQ(failure.code, 2);
    return failure.message;
  }
  return "no refusal";
}

TEST(Library, WhatIsMissingIsNamed) {
  EXPECT_NE(refusal("libnone.so.3", "f").find("expected the library libnone.so.3 of the package, got \"libnone.so.3: "),
            std::string::npos);
  EXPECT_EQ(refusal("libnccl.so.2", "ncclNothing"), "expected the library libnccl.so.2 to have ncclNothing, got one "
                                                    "without it; install a newer version of the package");
}
