// blas.cpp - general matrix product through OpenBLAS.
#include "kernels/cpu/blas.h"
#include "kernels/cpu/blas_core.h"

#include <cblas.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>

namespace lf::rt {
namespace {

int fit(int64_t size, const char *name) {
  if (size < 0 || size > std::numeric_limits<int>::max())
    throw Failure{2, std::string("matrix product: expected \"") + name + "\" to be 0 to 2147483647, got " +
                         std::to_string(size) + "; use a smaller --micro-batch-size or --seq-length"};
  return static_cast<int>(size);
}

CBLAS_TRANSPOSE transposed(bool yes) { return yes ? CblasTrans : CblasNoTrans; }

struct Sizes {
  int m, n, k, lda, ldb, ldc;
  Sizes(int64_t m_, int64_t n_, int64_t k_, int64_t lda_, int64_t ldb_, int64_t ldc_)
      : m(fit(m_, "m")), n(fit(n_, "n")), k(fit(k_, "k")), lda(std::max(1, fit(lda_, "row stride of a"))),
        ldb(std::max(1, fit(ldb_, "row stride of b"))), ldc(std::max(1, fit(ldc_, "row stride of c"))) {}
};

// Before main, when nothing multiplies yet.
[[maybe_unused]] const bool mended = mend_blas_core();

} // namespace

void use_blas_threads(const lf_rank *c) {
  static std::atomic<int32_t> current{0};
  const int32_t wanted = std::max(1, c->cpu_threads);
  if (current.load(std::memory_order_relaxed) != wanted) {
    openblas_set_num_threads(wanted);
    current.store(wanted, std::memory_order_relaxed);
  }
}

void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
          const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
  const Sizes z(m, n, k, lda, ldb, ldc);
  cblas_sgemm(CblasRowMajor, transposed(trans_a), transposed(trans_b), z.m, z.n, z.k, alpha, a, z.lda, b, z.ldb, beta,
              c, z.ldc);
}

void gemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a, int64_t lda,
          const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
  const Sizes z(m, n, k, lda, ldb, ldc);
  cblas_dgemm(CblasRowMajor, transposed(trans_a), transposed(trans_b), z.m, z.n, z.k, alpha, a, z.lda, b, z.ldb, beta,
              c, z.ldc);
}

} // namespace lf::rt
