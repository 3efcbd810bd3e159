// embedding.cu - token and position tables, and their gradients.
//
// Idea: the block of the first token with an id adds all tokens with that id, in order; so no two blocks write one row,
// and its bits are those of a loop over the tokens.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

/// table[keys[i] - offset] += the `each` rows of dy that belong to key i, for every i.
__global__ void scatter(const int32_t *keys, const Real *dy, Real *table, int64_t count, int64_t each, int64_t rows,
                        int64_t h, int64_t offset) {
  __shared__ bool same[block_threads];
  const int64_t first = blockIdx.x;
  const int32_t key = keys[first];
  const int64_t row = key - offset;
  if (row < 0 || row >= rows)
    return;
  for (int64_t base = 0; base < first; base += block_threads) {
    const int64_t i = base + threadIdx.x;
    if (__syncthreads_or(i < first && keys[i] == key))
      return; // an earlier block has this row
  }
  for (int64_t base = first; base < count; base += block_threads) {
    const int64_t i = base + threadIdx.x;
    const bool mine = i < count && keys[i] == key;
    same[threadIdx.x] = mine;
    if (__syncthreads_or(mine))
      for (int t = 0; t < block_threads; ++t)
        for (int64_t k = 0; same[t] && k < each; ++k)
          for (int64_t e = threadIdx.x; e < h; e += block_threads)
            table[row * h + e] += dy[((base + t) * each + k) * h + e];
    __syncthreads();
  }
}

void scatter_rows(lf_rank *c, const char *what, const int32_t *keys, const Real *dy, Real *table, int64_t count,
                  int64_t each, int64_t rows, int64_t h, int64_t offset) {
  lf_zero(c, what, table, rows * h);
  if (count <= 0)
    return;
  scatter<<<static_cast<unsigned>(count), block_threads, 0, cuda(c).compute()>>>(keys, dy, table, count, each, rows, h,
                                                                                 offset);
  LF_LAUNCHED(what);
}

} // namespace

void lf_embedding(lf_rank *c, const char *what, const int32_t *ids, const void *table, void *y, int64_t tokens,
                  int64_t rows, int64_t h, int64_t offset) {
  const Real *from = in(table);
  Real *to = out(y);
  for_each(c, what, tokens * h, [=] __device__(int64_t i) {
    const int64_t row = ids[i / h] - offset;
    to[i] = row >= 0 && row < rows ? from[row * h + i % h] : Real(0);
  });
}

void lf_embedding_grad(lf_rank *c, const char *what, const int32_t *ids, const void *dy, void *dtable, int64_t tokens,
                       int64_t rows, int64_t h, int64_t offset) {
  scatter_rows(c, what, ids, in(dy), out(dtable), tokens, 1, rows, h, offset);
}

void lf_position_embedding(lf_rank *c, const char *what, const void *x, const int32_t *pos, const void *table, void *y,
                           int64_t s, int64_t b, int64_t h) {
  const Real *from = in(x), *rows = in(table);
  Real *to = out(y);
  for_each(c, what, s * b * h, [=] __device__(int64_t i) { to[i] = from[i] + rows[pos[i / (b * h)] * h + i % h]; });
}

void lf_position_embedding_grad(lf_rank *c, const char *what, const int32_t *pos, const void *dy, void *dtable,
                                int64_t s, int64_t b, int64_t h, int64_t rows) {
  StepSums *sums = cuda(c).sums();
  for_each(c, what, s, [=] __device__(int64_t i) {
    if (pos[i] < 0 || pos[i] >= rows) { // several may write: any of them is a good example
      sums->value = pos[i];
      sums->bound = static_cast<int32_t>(rows);
      sums->fault = 1;
    }
  });
  scatter_rows(c, what, pos, in(dy), out(dtable), s, b, rows, h, 0);
}
