// cublaslt_library.cpp - the functions of cuBLASLt that the runtime calls, from a library that is opened when needed.
#include "device/cuda/library.h"

#include <cublasLt.h>

#define LF_CUBLASLT(result, name, parameters, arguments)                                                               \
  LF_LIBRARY_FUNCTION("libcublasLt.so.13", "the CUDA Toolkit 13", result, name, parameters, arguments)

LF_CUBLASLT(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * a), (a))
LF_CUBLASLT(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t a), (a))
LF_CUBLASLT(const char *, cublasLtGetStatusName, (cublasStatus_t a), (a))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmul,
            (cublasLtHandle_t a, cublasLtMatmulDesc_t b, const void *c, const void *d, cublasLtMatrixLayout_t e,
             const void *f, cublasLtMatrixLayout_t g, const void *h, const void *i, cublasLtMatrixLayout_t j, void *k,
             cublasLtMatrixLayout_t l, const cublasLtMatmulAlgo_t *m, void *n, size_t o, cudaStream_t p),
            (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,
            (cublasLtHandle_t a, cublasLtMatmulDesc_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
             cublasLtMatrixLayout_t e, cublasLtMatrixLayout_t f, cublasLtMatmulPreference_t g, int h,
             cublasLtMatmulHeuristicResult_t *i, int *j),
            (a, b, c, d, e, f, g, h, i, j))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulDescCreate,
            (cublasLtMatmulDesc_t * a, cublasComputeType_t b, cudaDataType_t c), (a, b, c))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t a), (a))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulDescSetAttribute,
            (cublasLtMatmulDesc_t a, cublasLtMatmulDescAttributes_t b, const void *c, size_t d), (a, b, c, d))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * a), (a))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t a), (a))
LF_CUBLASLT(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,
            (cublasLtMatmulPreference_t a, cublasLtMatmulPreferenceAttributes_t b, const void *c, size_t d),
            (a, b, c, d))
LF_CUBLASLT(cublasStatus_t, cublasLtMatrixLayoutCreate,
            (cublasLtMatrixLayout_t * a, cudaDataType b, uint64_t c, uint64_t d, int64_t e), (a, b, c, d, e))
LF_CUBLASLT(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t a), (a))
