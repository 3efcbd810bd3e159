// nccl_library.cpp - the functions of NCCL that the runtime calls, from a library that is opened when needed.
#include "device/cuda/library.h"

#include <nccl.h>

#define LF_NCCL_FUNCTION(result, name, parameters, arguments)                                                          \
  LF_LIBRARY_FUNCTION("libnccl.so.2", "NCCL", result, name, parameters, arguments)

LF_NCCL_FUNCTION(ncclResult_t, ncclAllGather,
                 (const void *a, void *b, size_t c, ncclDataType_t d, ncclComm_t e, cudaStream_t f), (a, b, c, d, e, f))
LF_NCCL_FUNCTION(ncclResult_t, ncclAllReduce,
                 (const void *a, void *b, size_t c, ncclDataType_t d, ncclRedOp_t e, ncclComm_t f, cudaStream_t g),
                 (a, b, c, d, e, f, g))
LF_NCCL_FUNCTION(ncclResult_t, ncclBroadcast,
                 (const void *a, void *b, size_t c, ncclDataType_t d, int e, ncclComm_t f, cudaStream_t g),
                 (a, b, c, d, e, f, g))
LF_NCCL_FUNCTION(ncclResult_t, ncclCommAbort, (ncclComm_t a), (a))
LF_NCCL_FUNCTION(ncclResult_t, ncclCommDestroy, (ncclComm_t a), (a))
LF_NCCL_FUNCTION(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t a, ncclResult_t *b), (a, b))
LF_NCCL_FUNCTION(ncclResult_t, ncclCommInitRankConfig, (ncclComm_t * a, int b, ncclUniqueId c, int d, ncclConfig_t *e),
                 (a, b, c, d, e))
LF_NCCL_FUNCTION(ncclResult_t, ncclCommSplit, (ncclComm_t a, int b, int c, ncclComm_t *d, ncclConfig_t *e),
                 (a, b, c, d, e))
LF_NCCL_FUNCTION(const char *, ncclGetErrorString, (ncclResult_t a), (a))
LF_NCCL_FUNCTION(const char *, ncclGetLastError, (ncclComm_t a), (a))
LF_NCCL_FUNCTION(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * a), (a))
LF_NCCL_FUNCTION(ncclResult_t, ncclGroupEnd, (), ())
LF_NCCL_FUNCTION(ncclResult_t, ncclGroupStart, (), ())
LF_NCCL_FUNCTION(ncclResult_t, ncclRecv, (void *a, size_t b, ncclDataType_t c, int d, ncclComm_t e, cudaStream_t f),
                 (a, b, c, d, e, f))
LF_NCCL_FUNCTION(ncclResult_t, ncclReduceScatter,
                 (const void *a, void *b, size_t c, ncclDataType_t d, ncclRedOp_t e, ncclComm_t f, cudaStream_t g),
                 (a, b, c, d, e, f, g))
LF_NCCL_FUNCTION(ncclResult_t, ncclSend,
                 (const void *a, size_t b, ncclDataType_t c, int d, ncclComm_t e, cudaStream_t f), (a, b, c, d, e, f))
