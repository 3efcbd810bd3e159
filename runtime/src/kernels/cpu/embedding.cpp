// embedding.cpp - token and position tables, and their gradients.
//
// Idea: a gradient is zeroed and then filled token by token in order, so that its bits do not depend on anything else.
#include "kernels/cpu/real.h"

#include <algorithm>

using namespace lf::rt;

namespace {

template <class T> LF_INLINE void add(const T *__restrict x, T *__restrict y, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] += x[i];
}

template <class T>
LF_INLINE void embedding(const int32_t *ids, const T *table, T *y, int64_t tokens, int64_t rows, int64_t h,
                         int64_t offset) {
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t row = ids[i] - offset;
    if (row >= 0 && row < rows)
      std::copy(table + row * h, table + (row + 1) * h, y + i * h);
    else
      std::fill(y + i * h, y + (i + 1) * h, T(0));
  }
}

template <class T>
LF_INLINE void embedding_grad(const int32_t *ids, const T *dy, T *dtable, int64_t tokens, int64_t rows, int64_t h,
                              int64_t offset, bool accumulate) {
  if (!accumulate)
    std::fill(dtable, dtable + rows * h, T(0));
  for (int64_t i = 0; i < tokens; ++i) {
    const int64_t row = ids[i] - offset;
    if (row >= 0 && row < rows)
      add(dy + i * h, dtable + row * h, h);
  }
}

template <class T>
LF_INLINE void position_embedding(const T *__restrict x, const int32_t *pos, const T *__restrict table, T *__restrict y,
                                  int64_t s, int64_t b, int64_t h) {
  for (int64_t i = 0; i < s; ++i) {
    const T *__restrict row = table + pos[i] * h;
    for (int64_t j = 0; j < b; ++j, x += h, y += h)
      for (int64_t e = 0; e < h; ++e)
        y[e] = x[e] + row[e];
  }
}

template <class T>
LF_INLINE void position_embedding_grad(const char *what, const int32_t *pos, const T *dy, T *dtable, int64_t s,
                                       int64_t b, int64_t h, int64_t rows) {
  std::fill(dtable, dtable + rows * h, T(0));
  for (int64_t i = 0; i < s; ++i) {
    if (pos[i] < 0 || pos[i] >= rows)
      throw Failure{4, std::string("\"") + what + "\": expected positions below " + std::to_string(rows) +
                           ", the rows of the table, got " + std::to_string(pos[i]) + "; use a smaller --seq-length"};
    for (int64_t j = 0; j < b; ++j)
      add(dy + (i * b + j) * h, dtable + pos[i] * h, h);
  }
}

} // namespace

void lf_embedding(lf_rank *c, const char *what, const int32_t *ids, const void *table, void *y, int64_t tokens,
                  int64_t rows, int64_t h, int64_t offset) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    embedding(ids, in<T>(table), out<T>(y), tokens, rows, h, offset);
  });
}

void lf_embedding_grad(lf_rank *c, const char *what, const int32_t *ids, const void *dy, void *dtable, int64_t tokens,
                       int64_t rows, int64_t h, int64_t offset, int32_t accumulate) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    embedding_grad(ids, in<T>(dy), out<T>(dtable), tokens, rows, h, offset, accumulate != 0);
  });
}

void lf_position_embedding(lf_rank *c, const char *what, const void *x, const int32_t *pos, const void *table, void *y,
                           int64_t s, int64_t b, int64_t h) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    position_embedding(in<T>(x), pos, in<T>(table), out<T>(y), s, b, h);
  });
}

void lf_position_embedding_grad(lf_rank *c, const char *what, const int32_t *pos, const void *dy, void *dtable,
                                int64_t s, int64_t b, int64_t h, int64_t rows) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    position_embedding_grad(what, pos, in<T>(dy), out<T>(dtable), s, b, h, rows);
  });
}
