// blas.h - general matrix product on the real type.
//
// Idea: the one place that knows BLAS; strides are explicit, so that blocks inside larger arrays need no copies.
#pragma once

#include "rank.h"

#include <cstdint>

namespace lf::rt {

/// Gives BLAS c->cpu_threads threads. The setting is one for the process: ranks that are threads have cpu_threads 1.
void use_blas_threads(const lf_rank *c);

/// c[m, n] = alpha op(a) op(b) + beta c, row-major with row strides lda, ldb, ldc (elements). beta 0 overwrites c
/// whatever it held. Failure 2 when a size or stride does not fit a 32-bit integer.
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
          const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
          const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

} // namespace lf::rt
