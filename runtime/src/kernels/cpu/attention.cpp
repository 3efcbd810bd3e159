// attention.cpp - causal and windowed attention with grouped queries, in blocks with a running softmax.
//
// Idea: a block of queries meets one block of keys at a time; scores live in a [block, block] scratch, the output is
// rescaled when a row's maximum grows, and the backward rebuilds the probabilities from lse. Products work in place on
// strided rows of q, k, v and o: row i of one head is `stride` elements after row i - 1.
#include "kernels/cpu/blas.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/real.h"
#include "kernels/cpu/visibility.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace lf::rt;

namespace {

constexpr int64_t block = 64;

struct Shape {
  int64_t s, t, b, g, r, d;
  int64_t query_stride() const { return b * g * r * d; }
  int64_t key_stride() const { return b * g * d; }
  int64_t lse_stride() const { return b * g * r; }
};

struct Mask {
  const int32_t *pk;
  int64_t window;
};

struct KeyRanges;
struct Scores;
struct ScoreGradients;

/// Position ranges of the blocks of keys.
const PositionRange *key_ranges(const int32_t *pk, int64_t t) {
  PositionRange *ranges = scratch<KeyRanges, PositionRange>((t + block - 1) / block);
  for (int64_t j = 0; j < t; j += block)
    ranges[j / block] = position_range(pk + j, std::min(block, t - j));
  return ranges;
}

/// Scores of invisible keys become -infinity.
template <class T>
LF_INLINE void hide(T *__restrict row, int32_t q, const int32_t *__restrict pk, int64_t keys, int64_t window) {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  for (int64_t j = 0; j < keys; ++j)
    row[j] = visible(q, pk[j], window) ? row[j] : hidden;
}

template <class T> LF_INLINE T row_maximum(const T *row, int64_t keys) {
  constexpr int64_t lanes = 16;
  T best[lanes];
  std::fill(best, best + lanes, -std::numeric_limits<T>::infinity());
  int64_t j = 0;
  for (; j + lanes <= keys; j += lanes)
    for (int64_t i = 0; i < lanes; ++i)
      best[i] = row[j + i] > best[i] ? row[j + i] : best[i];
  for (; j < keys; ++j)
    best[0] = row[j] > best[0] ? row[j] : best[0];
  return *std::max_element(best, best + lanes);
}

/// row = e^(row - top); returns the sum.
template <class T> LF_INLINE T exponentials(T *row, T top, int64_t keys) {
  constexpr int64_t lanes = 16;
  T sums[lanes] = {};
  int64_t j = 0;
  for (; j + lanes <= keys; j += lanes)
    for (int64_t i = 0; i < lanes; ++i) {
      row[j + i] = fast_exp(row[j + i] - top);
      sums[i] += row[j + i];
    }
  for (; j < keys; ++j) {
    row[j] = fast_exp(row[j] - top);
    sums[0] += row[j];
  }
  T total = T(0);
  for (T sum : sums)
    total += sum;
  return total;
}

/// One head's block of `queries` rows: o and lse from q and all keys.
template <class T>
LF_INLINE void forward_block(const Shape &n, const Mask &mask, const PositionRange *ranges, const T *q, const T *k,
                             const T *v, const int32_t *pq, T *o, T *lse, int64_t queries, T scale) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  T *scores = scratch<Scores, T>(block * block);
  T top[block], total[block];
  std::fill(top, top + queries, none);
  std::fill(total, total + queries, T(0));
  for (int64_t i = 0; i < queries; ++i)
    std::fill(o + i * n.query_stride(), o + i * n.query_stride() + n.d, T(0));
  const PositionRange here = position_range(pq, queries);

  for (int64_t j = 0; j < n.t; j += block) {
    const Visibility seen = block_visibility(here, ranges[j / block], mask.window);
    if (seen == Visibility::none)
      continue;
    const int64_t keys = std::min(block, n.t - j);
    gemm(false, true, queries, keys, n.d, scale, q, n.query_stride(), k + j * n.key_stride(), n.key_stride(), T(0),
         scores, block);
    for (int64_t i = 0; i < queries; ++i) {
      T *row = scores + i * block;
      if (seen == Visibility::some)
        hide(row, pq[i], mask.pk + j, keys, mask.window);
      const T best = std::max(top[i], row_maximum(row, keys));
      if (best == none) { // no key so far: e^(-inf - -inf) is not a number
        std::fill(row, row + keys, T(0));
        continue;
      }
      const T sum = exponentials(row, best, keys);
      if (best > top[i]) {
        const T shrink = fast_exp(top[i] - best);
        T *__restrict y = o + i * n.query_stride();
        for (int64_t e = 0; e < n.d; ++e)
          y[e] *= shrink;
        total[i] *= shrink;
        top[i] = best;
      }
      total[i] += sum;
    }
    gemm(false, false, queries, n.d, keys, T(1), scores, block, v + j * n.key_stride(), n.key_stride(), T(1), o,
         n.query_stride());
  }

  for (int64_t i = 0; i < queries; ++i) {
    lse[i * n.lse_stride()] = total[i] > T(0) ? top[i] + std::log(total[i]) : none;
    const T inverse = total[i] > T(0) ? T(1) / total[i] : T(0);
    T *__restrict y = o + i * n.query_stride();
    for (int64_t e = 0; e < n.d; ++e)
      y[e] *= inverse;
  }
}

/// Adds one head's block of queries to dk and dv, and writes its dq (zero on entry).
template <class T>
LF_INLINE void backward_block(const Shape &n, const Mask &mask, const PositionRange *ranges, const T *q, const T *k,
                              const T *v, const int32_t *pq, const T *o, const T *lse, const T *d_o, T *dq, T *dk,
                              T *dv, int64_t queries, T scale) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  const int64_t qs = n.query_stride(), ks = n.key_stride();
  T *scores = scratch<Scores, T>(block * block);
  T *slopes = scratch<ScoreGradients, T>(block * block);
  T delta[block], norm[block];
  for (int64_t i = 0; i < queries; ++i) {
    const T *y = o + i * qs, *dy = d_o + i * qs;
    delta[i] = static_cast<T>(lane_sum(n.d, [&](int64_t e) { return y[e] * dy[e]; }));
    norm[i] = lse[i * n.lse_stride()];
  }
  const PositionRange here = position_range(pq, queries);

  for (int64_t j = 0; j < n.t; j += block) {
    const Visibility seen = block_visibility(here, ranges[j / block], mask.window);
    if (seen == Visibility::none)
      continue;
    const int64_t keys = std::min(block, n.t - j);
    gemm(false, true, queries, keys, n.d, scale, q, qs, k + j * ks, ks, T(0), scores, block);
    gemm(false, true, queries, keys, n.d, T(1), d_o, qs, v + j * ks, ks, T(0), slopes, block);
    for (int64_t i = 0; i < queries; ++i) {
      T *__restrict p = scores + i * block;
      T *__restrict ds = slopes + i * block;
      if (norm[i] == none) { // a query without keys
        std::fill(p, p + keys, T(0));
        std::fill(ds, ds + keys, T(0));
        continue;
      }
      if (seen == Visibility::some)
        hide(p, pq[i], mask.pk + j, keys, mask.window);
      const T shift = norm[i], pull = delta[i];
      for (int64_t e = 0; e < keys; ++e) {
        const T probability = fast_exp(p[e] - shift);
        p[e] = probability;
        ds[e] = probability * (ds[e] - pull);
      }
    }
    gemm(true, false, keys, n.d, queries, T(1), scores, block, d_o, qs, T(1), dv + j * ks, ks);
    gemm(true, false, keys, n.d, queries, scale, slopes, block, q, qs, T(1), dk + j * ks, ks);
    gemm(false, false, queries, n.d, keys, scale, slopes, block, k + j * ks, ks, T(1), dq, qs);
  }
}

/// Calls body(query, key, statistic, first, queries) for each block of each head: the offsets of its first row in q, of
/// its keys in k and of its first row in lse, then the index of its first row, and its rows.
template <class Body> LF_INLINE void for_blocks(const Shape &n, Body &&body) {
  for (int64_t group = 0; group < n.b * n.g; ++group)
    for (int64_t head = group * n.r; head < (group + 1) * n.r; ++head)
      for (int64_t i = 0; i < n.s; i += block)
        LF_INLINED body(i * n.query_stride() + head * n.d, group * n.d, i * n.lse_stride() + head, i,
                        std::min(block, n.s - i));
}

} // namespace

void lf_attention(lf_rank *c, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                  const int32_t *pk, void *o, void *lse, int64_t s, int64_t t, int64_t b, int64_t g, int64_t r,
                  int64_t d, double scale, int64_t window) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    use_blas_threads(c);
    const Shape n{s, t, b, g, r, d};
    const Mask mask{pk, window};
    const PositionRange *ranges = key_ranges(pk, t);
    for_blocks(n, [&](int64_t query, int64_t key, int64_t statistic, int64_t first, int64_t queries) {
      forward_block(n, mask, ranges, in<T>(q) + query, in<T>(k) + key, in<T>(v) + key, pq + first, out<T>(o) + query,
                    out<T>(lse) + statistic, queries, static_cast<T>(scale));
    });
  });
}

void lf_attention_grad(lf_rank *c, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                       const int32_t *pk, const void *o, const void *lse, const void *d_o, void *dq, void *dk, void *dv,
                       int64_t s, int64_t t, int64_t b, int64_t g, int64_t r, int64_t d, double scale, int64_t window) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    use_blas_threads(c);
    const Shape n{s, t, b, g, r, d};
    const Mask mask{pk, window};
    const PositionRange *ranges = key_ranges(pk, t);
    std::fill(out<T>(dq), out<T>(dq) + s * n.query_stride(), T(0));
    std::fill(out<T>(dk), out<T>(dk) + t * n.key_stride(), T(0));
    std::fill(out<T>(dv), out<T>(dv) + t * n.key_stride(), T(0));
    for_blocks(n, [&](int64_t query, int64_t key, int64_t statistic, int64_t first, int64_t queries) {
      backward_block(n, mask, ranges, in<T>(q) + query, in<T>(k) + key, in<T>(v) + key, pq + first, in<T>(o) + query,
                     in<T>(lse) + statistic, in<T>(d_o) + query, out<T>(dq) + query, out<T>(dk) + key, out<T>(dv) + key,
                     queries, static_cast<T>(scale));
    });
  });
}
