// embedding.cu - token and position tables.
//
// Floors: rows of the table in, rows out; positions also x.
#include "kernels/cuda/launch.cuh"

using namespace lf::rt;

namespace {

template <class Unit>
__global__ void look_up(const int32_t *ids, const Unit *table, Unit *y, int64_t rows, int64_t units, int64_t offset) {
  const int64_t row = int64_t(ids[blockIdx.x]) - offset;
  const bool here = row >= 0 && row < rows;
  for (int64_t e = threadIdx.x; e < units; e += blockDim.x)
    y[blockIdx.x * units + e] = here ? table[row * units + e] : Unit{};
}

template <class Unit>
void look_up_by(lf_rank *c, const char *what, const int32_t *ids, const void *table, void *y, int64_t tokens,
                int64_t rows, int64_t bytes, int64_t offset) {
  const int64_t units = bytes / static_cast<int64_t>(sizeof(Unit));
  look_up<<<static_cast<unsigned>(tokens), row_threads(units, 1), 0, cuda(c).compute()>>>(
      ids, in<Unit>(table), out<Unit>(y), rows, units, offset);
  LF_LAUNCHED(what);
}

template <int width, class T>
__global__ void add_rows(const T *x, const int32_t *pos, const T *table, T *y, int64_t b, int64_t h) {
  const T *row = table + int64_t(pos[blockIdx.x / b]) * h;
  T *to = y + blockIdx.x * h;
  for_packs<width>(x + blockIdx.x * h, h, [&](int64_t j, float(&value)[width]) {
    float more[width];
    load(row + j, more);
#pragma unroll
    for (int e = 0; e < width; ++e)
      value[e] += more[e];
    store(to + j, value);
  });
}

template <class T>
void position_embedding(lf_rank *c, const char *what, const T *x, const int32_t *pos, const T *table, T *y, int64_t s,
                        int64_t b, int64_t h) {
  if (s * b <= 0)
    return;
  const unsigned blocks = static_cast<unsigned>(s * b);
  cudaStream_t stream = cuda(c).compute();
  if (h % wide == 0 && aligned(x, table, y))
    add_rows<wide><<<blocks, row_threads(h, wide), 0, stream>>>(x, pos, table, y, b, h);
  else
    add_rows<1><<<blocks, row_threads(h, 1), 0, stream>>>(x, pos, table, y, b, h);
  LF_LAUNCHED(what);
}

} // namespace

void lf_embedding(lf_rank *c, const char *what, const int32_t *ids, const void *table, void *y, int64_t tokens,
                  int64_t rows, int64_t h, int64_t offset) {
  if (tokens <= 0)
    return;
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    const int64_t bytes = h * static_cast<int64_t>(sizeof(T));
    if (bytes % 16 == 0 && aligned(in<T>(table), in<T>(y)))
      look_up_by<uint4>(c, what, ids, table, y, tokens, rows, bytes, offset);
    else
      look_up_by<uint16_t>(c, what, ids, table, y, tokens, rows, bytes, offset);
  });
}

void lf_position_embedding(lf_rank *c, const char *what, const void *x, const int32_t *pos, const void *table, void *y,
                           int64_t s, int64_t b, int64_t h) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    position_embedding(c, what, in<T>(x), pos, in<T>(table), out<T>(y), s, b, h);
  });
}
