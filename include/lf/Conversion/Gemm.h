//===- Gemm.h - An einsum as one matrix product -----------------------------===//
//
// c[m, n] = op(a) op(b), when the factors of m, n and k stand together in both operands and the result.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lf {

struct Gemm {
  int64_t m = 1, n = 1, k = 1;
  bool transA = false, transB = false;
  bool swapped = false; ///< a is the right operand of the spec, b the left
};

/// `spec` is "sbh,hf->sbf", `lhs` and `rhs` the dims of the operands. Factors of size 1 do not count, wherever they
/// stand. Nothing, with `why`, when the product is not one GEMM.
std::optional<Gemm> asGemm(std::string_view spec, const std::vector<int64_t> &lhs, const std::vector<int64_t> &rhs,
                           std::string &why);

} // namespace lf
