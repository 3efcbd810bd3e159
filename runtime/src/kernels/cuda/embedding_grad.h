// embedding_grad.h - what the gradient of a table takes beside its arrays.
#pragma once

#include <cstdint>

namespace lf::rt {

/// Bytes of scratch (CudaDevice::scratch) of lf_embedding_grad of these sizes: 16 a token and 4 a row of the table, 4 h
/// for each 64 tokens, and what the sort takes, about a mebibyte.
int64_t embedding_grad_scratch(int64_t tokens, int64_t rows, int64_t h);

} // namespace lf::rt
