//===- Gemm.cpp - An einsum as one matrix product ----------------*- C++ -*-===//
//
// Classifies factors as m, n or k and tries both orders of the operands.
//
//===----------------------------------------------------------------------===//
#include "lf/Conversion/Gemm.h"
#include <map>

using namespace lf;

static bool has(const std::string &letters, char c) { return letters.find(c) != std::string::npos; }

static std::string refusal(char factor, const char *cause) {
  std::string text = "factor \"";
  text += factor;
  text += "\" ";
  return text += cause;
}

std::optional<Gemm> lf::asGemm(std::string_view spec, const std::vector<int64_t> &lhs, const std::vector<int64_t> &rhs,
                               std::string &why) {
  size_t comma = spec.find(','), arrow = spec.find("->");
  std::string l(spec.substr(0, comma)), r(spec.substr(comma + 1, arrow - comma - 1)), c(spec.substr(arrow + 2));
  std::map<char, int64_t> size;
  for (size_t i = 0; i < l.size(); ++i)
    size[l[i]] = lhs[i];
  for (size_t i = 0; i < r.size(); ++i)
    size[r[i]] = rhs[i];
  for (std::string *letters : {&l, &r, &c})
    std::erase_if(*letters, [&](char f) { return size[f] == 1; });
  for (const std::string &letters : {l, r})
    for (char f : letters) {
      if (has(l, f) && has(r, f) && has(c, f)) {
        why = refusal(f, "is in both operands and the result (a batched product)");
        return std::nullopt;
      }
      if (has(l, f) + has(r, f) + has(c, f) == 1) {
        why = refusal(f, "is in one operand alone (a sum)");
        return std::nullopt;
      }
    }
  for (bool swapped : {false, true}) {
    const std::string &a = swapped ? r : l, &b = swapped ? l : r;
    std::string m, n, k;
    for (char f : c)
      (has(a, f) ? m : n) += f;
    for (char f : a)
      if (!has(c, f))
        k += f;
    if (c != m + n || (a != m + k && a != k + m) || (b != k + n && b != n + k))
      continue;
    Gemm gemm;
    for (auto [letters, extent] : {std::pair(&m, &gemm.m), std::pair(&n, &gemm.n), std::pair(&k, &gemm.k)})
      for (char f : *letters)
        *extent *= size[f];
    gemm.transA = a != m + k;
    gemm.transB = b != k + n;
    gemm.swapped = swapped;
    return gemm;
  }
  why = "the factors of rows, columns and sum do not stand together, in one order, in operands and result";
  return std::nullopt;
}
