// embedding_grad.cu - the gradients of token and position tables, with the same bits in every run.
//
// Idea: a stable sort of the keys lists the tokens of each row of the table in their order; then one block a row adds
// them, and writes the row, zeros too, once. In a bfloat16 program full chunks of 64 sorted tokens that all have one
// key are summed first, by blocks of their own, so that a token that fills the batch does not wait for one block. In
// fp32 the sums are those of a loop over the tokens, bit for bit. Floors: the table out and the rows of dy in; at
// 128256 x 2048 the table alone is a gigabyte.
#include "kernels/cuda/embedding_grad.h"

#include "kernels/cuda/launch.cuh"

#include <cub/device/device_radix_sort.cuh>

using namespace lf::rt;

namespace {

constexpr int64_t chunk = 64; ///< sorted tokens

/// Key `rows` stands for all that are not in this shard of the table.
__global__ void make_keys(const int32_t *ids, uint32_t *keys, int32_t *places, int64_t count, int64_t rows,
                          int64_t offset) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  const int64_t row = int64_t(ids[i]) - offset;
  keys[i] = static_cast<uint32_t>(row >= 0 && row < rows ? row : rows);
  places[i] = static_cast<int32_t>(i);
}

/// first[row] = the number of sorted keys below row, for row in [0, rows].
__global__ void find_first(const uint32_t *sorted, int32_t *first, int64_t count, int64_t rows) {
  const int64_t row = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row > rows)
    return;
  int64_t below = 0, end = count;
  while (below < end) {
    const int64_t middle = (below + end) / 2;
    if (sorted[middle] < row)
      below = middle + 1;
    else
      end = middle;
  }
  first[row] = static_cast<int32_t>(below);
}

/// sum += the `each` rows of dy that belong to sorted token i, at columns j.
template <int width, class T>
__device__ void add_token(const int32_t *places, const T *dy, int64_t i, int64_t each, int64_t h, int64_t j,
                          float (&sum)[width]) {
  const T *from = dy + int64_t(places[i]) * each * h + j;
  for (int64_t k = 0; k < each; ++k) {
    float x[width];
    load(from + k * h, x);
#pragma unroll
    for (int e = 0; e < width; ++e)
      sum[e] += x[e];
  }
}

/// parts[q] = the sum of chunk q of the sorted tokens, when its keys are all the same and in the table.
template <int width, class T>
__global__ void add_chunks(const uint32_t *sorted, const int32_t *places, const T *dy, float *parts, int64_t each,
                           int64_t rows, int64_t h) {
  const int64_t begin = blockIdx.x * chunk;
  if (sorted[begin] != sorted[begin + chunk - 1] || sorted[begin] >= rows)
    return;
  const int64_t j = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * width;
  if (j >= h)
    return;
  float sum[width] = {};
#pragma unroll 4
  for (int64_t i = begin; i < begin + chunk; ++i)
    add_token<width>(places, dy, i, each, h, j, sum);
  store(parts + blockIdx.x * h + j, sum);
}

/// Row blockIdx.x of the table, or what is added to it.
template <bool by_chunks, int width, class T>
__global__ void add_row(const int32_t *first, const int32_t *places, const T *dy, const float *parts, float *table,
                        int64_t each, int64_t h, bool accumulate) {
  const int64_t begin = first[blockIdx.x], end = first[blockIdx.x + 1];
  if (accumulate && begin == end)
    return;
  for (int64_t j = int64_t(threadIdx.x) * width; j < h; j += int64_t(blockDim.x) * width) {
    float sum[width] = {};
    int64_t i = begin;
    if constexpr (by_chunks) {
      const int64_t from = (begin + chunk - 1) / chunk, to = end / chunk; // whole chunks are [from, to)
      if (from < to) {
        for (; i < from * chunk; ++i)
          add_token<width>(places, dy, i, each, h, j, sum);
#pragma unroll 4
        for (int64_t q = from; q < to; ++q) {
          float x[width];
          load(parts + q * h + j, x);
#pragma unroll
          for (int e = 0; e < width; ++e)
            sum[e] += x[e];
        }
        i = to * chunk;
      }
    }
#pragma unroll 4
    for (; i < end; ++i)
      add_token<width>(places, dy, i, each, h, j, sum);
    if (accumulate) {
      float x[width];
      load(table + blockIdx.x * h + j, x);
#pragma unroll
      for (int e = 0; e < width; ++e)
        sum[e] += x[e];
    }
    store(table + blockIdx.x * h + j, sum);
  }
}

int64_t rounded_up(int64_t bytes) { return (bytes + 255) / 256 * 256; }

/// The pieces of scratch, in bytes from its beginning.
struct Layout {
  int64_t keys, places, sorted, order, first, parts, sort, end;
  size_t sort_bytes = 0;
  int bits = 1; ///< of a key
  Layout(int64_t count, int64_t rows, int64_t h) {
    while ((int64_t(1) << bits) <= rows)
      ++bits;
    LF_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, sort_bytes, static_cast<const uint32_t *>(nullptr),
                                            static_cast<uint32_t *>(nullptr), static_cast<const int32_t *>(nullptr),
                                            static_cast<int32_t *>(nullptr), static_cast<int>(count), 0, bits));
    keys = 0;
    places = keys + rounded_up(count * 4);
    sorted = places + rounded_up(count * 4);
    order = sorted + rounded_up(count * 4);
    first = order + rounded_up(count * 4);
    parts = first + rounded_up((rows + 1) * 4);
    sort = parts + rounded_up(count / chunk * h * 4);
    end = sort + static_cast<int64_t>(sort_bytes);
  }
};

template <int width, class T>
void add_rows(lf_rank *c, const char *what, const T *dy, float *table, int64_t count, int64_t each, int64_t rows,
              int64_t h, bool accumulate, char *scratch, const Layout &l) {
  constexpr bool by_chunks = !std::is_same_v<T, float>;
  cudaStream_t stream = lf::rt::cuda(c).compute();
  const uint32_t *sorted = in<uint32_t>(scratch + l.sorted);
  const int32_t *order = in<int32_t>(scratch + l.order), *first = in<int32_t>(scratch + l.first);
  float *parts = out<float>(scratch + l.parts);
  const int threads = static_cast<int>(std::clamp<int64_t>((h / width + 31) / 32 * 32, 32, block_threads));
  if (by_chunks && count >= chunk) {
    const dim3 grid(static_cast<unsigned>(count / chunk),
                    static_cast<unsigned>((h + int64_t(threads) * width - 1) / (int64_t(threads) * width)));
    add_chunks<width><<<grid, threads, 0, stream>>>(sorted, order, dy, parts, each, rows, h);
    LF_LAUNCHED(what);
  }
  add_row<by_chunks, width>
      <<<static_cast<unsigned>(rows), threads, 0, stream>>>(first, order, dy, parts, table, each, h, accumulate);
  LF_LAUNCHED(what);
}

/// table[row] = (or +=) sum of the `each` rows of dy of every key that is row + offset, in their order.
template <class T>
void scatter(lf_rank *c, const char *what, const int32_t *ids, const T *dy, float *table, int64_t count, int64_t each,
             int64_t rows, int64_t h, int64_t offset, bool accumulate) {
  if (rows <= 0 || h <= 0 || (count <= 0 && accumulate))
    return;
  if (count <= 0)
    return lf_zero(c, what, table, rows * h, LF_F32);
  const Layout l(count, rows, h);
  char *scratch = lf::rt::cuda(c).scratch<char>(l.end);
  cudaStream_t stream = lf::rt::cuda(c).compute();
  uint32_t *keys = out<uint32_t>(scratch + l.keys), *sorted = out<uint32_t>(scratch + l.sorted);
  int32_t *places = out<int32_t>(scratch + l.places), *order = out<int32_t>(scratch + l.order);
  auto blocks = [](int64_t threads) { return static_cast<unsigned>((threads + block_threads - 1) / block_threads); };
  make_keys<<<blocks(count), block_threads, 0, stream>>>(ids, keys, places, count, rows, offset);
  LF_LAUNCHED(what);
  size_t bytes = l.sort_bytes;
  LF_CUDA(cub::DeviceRadixSort::SortPairs(scratch + l.sort, bytes, keys, sorted, places, order, static_cast<int>(count),
                                          0, l.bits, stream));
  find_first<<<blocks(rows + 1), block_threads, 0, stream>>>(sorted, out<int32_t>(scratch + l.first), count, rows);
  LF_LAUNCHED(what);
  if (h % wide == 0 && aligned(dy, table))
    add_rows<wide>(c, what, dy, table, count, each, rows, h, accumulate, scratch, l);
  else
    add_rows<1>(c, what, dy, table, count, each, rows, h, accumulate, scratch, l);
}

} // namespace

namespace lf::rt {

int64_t embedding_grad_scratch(int64_t tokens, int64_t rows, int64_t h) { return Layout(tokens, rows, h).end; }

} // namespace lf::rt

void lf_embedding_grad(lf_rank *c, const char *what, const int32_t *ids, const void *dy, void *dtable, int64_t tokens,
                       int64_t rows, int64_t h, int64_t offset, int32_t accumulate) {
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    scatter(c, what, ids, in<T>(dy), out<float>(dtable), tokens, 1, rows, h, offset, accumulate != 0);
  });
}

/// Notes in the sums of the step a position that the table has no row for.
static void check_positions(lf_rank *c, const char *what, const int32_t *pos, int64_t s, int64_t rows) {
  StepSums *sums = lf::rt::cuda(c).sums();
  for_each(c, what, s, [=] __device__(int64_t i) {
    if (pos[i] < 0 || pos[i] >= rows) { // several may write: any of them is a good example
      sums->value = pos[i];
      sums->bound = static_cast<int32_t>(rows);
      sums->fault = 1;
    }
  });
}

void lf_position_embedding_grad(lf_rank *c, const char *what, const int32_t *pos, const void *dy, void *dtable,
                                int64_t s, int64_t b, int64_t h, int64_t rows) {
  check_positions(c, what, pos, s, rows);
  with_real(c, what, [&](auto real) {
    using T = decltype(real);
    scatter(c, what, pos, in<T>(dy), out<float>(dtable), s, b, rows, h, 0, false);
  });
}
