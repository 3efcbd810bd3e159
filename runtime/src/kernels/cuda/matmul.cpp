// matmul.cpp - the matrix product by cuBLASLt.
//
// Idea: cuBLASLt is column-major, so c = a b is asked for as c^T = b^T a^T, with the operands swapped and nothing
// moved. The heuristic's first choice for a shape is kept, so that every step runs the same kernel. That kernel gives
// the same bits for the same inputs: each product has the workspace to itself, its stream being the only one that
// multiplies, and cuBLASLt adds the parts of a split sum in a fixed order (its in-place scheme, whose order depends on
// how blocks are scheduled, is not allowed here).
#include "device/cuda/cuda_device.h"

#include <map>
#include <tuple>

using namespace lf::rt;

namespace {

struct Product {
  Product() = default;
  Product(const Product &) = delete;
  Product &operator=(const Product &) = delete;
  ~Product() {
    cublasLtMatmulDescDestroy(operation);
    for (cublasLtMatrixLayout_t layout : {left, right, result})
      cublasLtMatrixLayoutDestroy(layout);
  }
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, result = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
};

/// m, n, k, trans_a, trans_b, alignment of a, b and c in bytes, type of c.
using Key = std::tuple<int64_t, int64_t, int64_t, bool, bool, uint32_t, uint32_t, uint32_t, lf_dtype>;
using Products = std::map<Key, Product>;

/// Largest power of two, 256 at most, that divides an address: what the algorithm may count on.
uint32_t alignment(const void *p) {
  uint32_t bytes = 256;
  while (reinterpret_cast<uintptr_t>(p) % bytes)
    bytes /= 2;
  return bytes;
}

struct Preference {
  Preference() { LF_BLAS(cublasLtMatmulPreferenceCreate(&handle)); }
  ~Preference() { cublasLtMatmulPreferenceDestroy(handle); }
  template <class T> void set(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    LF_BLAS(cublasLtMatmulPreferenceSetAttribute(handle, attribute, &value, sizeof value));
  }
  cublasLtMatmulPreference_t handle = nullptr;
};

cudaDataType_t data_type(lf_dtype type) { return type == LF_BF16 ? CUDA_R_16BF : CUDA_R_32F; }

void choose(CudaDevice &device, const char *what, const Key &key, lf_dtype of_ab, Product &product) {
  auto [m, n, k, trans_a, trans_b, align_a, align_b, align_c, of_c] = key;
  const cudaDataType_t operands = data_type(of_ab);
  // Sums in fp32, of plain fp32 factors too: no TF32.
  LF_BLAS(cublasLtMatmulDescCreate(&product.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasOperation_t left = trans_b ? CUBLAS_OP_T : CUBLAS_OP_N, right = trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  LF_BLAS(cublasLtMatmulDescSetAttribute(product.operation, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left));
  LF_BLAS(cublasLtMatmulDescSetAttribute(product.operation, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right));
  auto size = [](int64_t x) { return static_cast<uint64_t>(x); };
  LF_BLAS(cublasLtMatrixLayoutCreate(&product.left, operands, size(trans_b ? k : n), size(trans_b ? n : k),
                                     trans_b ? k : n));
  LF_BLAS(cublasLtMatrixLayoutCreate(&product.right, operands, size(trans_a ? m : k), size(trans_a ? k : m),
                                     trans_a ? m : k));
  LF_BLAS(cublasLtMatrixLayoutCreate(&product.result, data_type(of_c), size(n), size(m), n));
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(CudaDevice::workspace_bytes));
  // Parts of a split k are added in float: in place they would meet in any order, in the output's type be rounded.
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, align_b);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, align_a);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_c);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_c);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  LF_BLAS(cublasLtMatmulAlgoGetHeuristic(device.blas(), product.operation, product.left, product.right, product.result,
                                         product.result, preference.handle, 1, &found, &count));
  if (count == 0)
    throw Failure{5, std::string("\"") + what + "\": expected cuBLASLt to know an algorithm for m " +
                         std::to_string(m) + ", n " + std::to_string(n) + ", k " + std::to_string(k) + ", got none"};
  product.algorithm = found.algo;
}

} // namespace

void lf_matmul(lf_rank *c, const char *what, const void *a, const void *b, void *y, int64_t m, int64_t n, int64_t k,
               int32_t trans_a, int32_t trans_b, int32_t accumulate, lf_dtype of_c) {
  const lf_dtype of_ab = c->program->dtype;
  if (of_ab == LF_F64 || of_c == LF_F64 || (of_ab == LF_F32 && of_c != LF_F32))
    throw Failure{2, std::string("\"") + what +
                         "\": expected a product on cuda of float32 into float32, or of bfloat16 into bfloat16 or "
                         "float32, got other types; compile without --fp64"};
  if (accumulate && of_c != LF_F32) // some of cuBLASLt's kernels would round twice
    throw Failure{2, std::string("\"") + what +
                         "\": expected a product that is added to its result to have a result in float32, got bfloat16"};
  if (m <= 0 || n <= 0 || (k <= 0 && accumulate))
    return;
  if (k <= 0)
    return lf_zero(c, what, y, m * n, of_c);
  CudaDevice &device = cuda(c);
  if (!device.products)
    device.products = std::make_shared<Products>();
  const Key key{m, n, k, trans_a != 0, trans_b != 0, alignment(a), alignment(b), alignment(y), of_c};
  auto [entry, fresh] = static_cast<Products *>(device.products.get())->try_emplace(key);
  Product &product = entry->second;
  if (fresh)
    choose(device, what, key, of_ab, product);
  const float one = 1.0f, keep = accumulate ? 1.0f : 0.0f;
  cublasStatus_t status =
      cublasLtMatmul(device.blas(), product.operation, &one, b, product.left, a, product.right, &keep, y,
                     product.result, y, product.result, &product.algorithm, device.workspace(),
                     static_cast<size_t>(CudaDevice::workspace_bytes), device.compute());
  check_blas(status, (std::string("cublasLtMatmul of \"") + what + "\"").c_str(), __FILE__, __LINE__);
}
