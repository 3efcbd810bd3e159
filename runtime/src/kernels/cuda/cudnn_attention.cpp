// cudnn_attention.cpp - the graphs of attention and of its gradient, and which shapes have them.
//
// Idea: the operations are those that cuDNN knows as attention, in the order in which it wants them; it runs them as
// one kernel forward and a few backward. K^T and V^T are the memory of K and V with two dims exchanged. All scalars
// are floats that the graph keeps.
#include "kernels/cuda/cudnn_attention.h"

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/cudnn_graph.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace lf::rt {
namespace {

using Tensor = CudnnGraph::Tensor;
using Dims = CudnnGraph::Dims;

constexpr size_t any_length = 91501; ///< the first version whose gradient takes lengths that are no multiple of 128

/// One call: `groups` groups of kv heads out of arrays of shape `n`.
struct Call {
  AttentionShape n;
  int64_t groups;
  int64_t heads() const { return groups * n.r; }
};

Dims swapped(Dims x) { return {x[0], x[1], x[3], x[2]}; }

// ---- Layouts: dims are batch, head, position, channel ---------------------------------------------------------------

Dims query_dims(const Call &c) { return {c.n.b, c.heads(), c.n.s, c.n.d}; }
Dims query_strides(const Call &c) { return {c.n.g * c.n.r * c.n.d, c.n.d, c.n.query_stride(), 1}; }
Dims key_dims(const Call &c) { return {c.n.b, c.groups, c.n.t, c.n.d}; }
Dims key_strides(const Call &c) { return {c.n.g * c.n.d, c.n.d, c.n.key_stride(), 1}; }
Dims row_dims(const Call &c) { return {c.n.b, c.heads(), c.n.s, 1}; }
Dims statistics_strides(const Call &c) { return {c.n.g * c.n.r, 1, c.n.heads(), 1}; }

Dims packed(Dims dims) { return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1}; }

// ---- Graphs -------------------------------------------------------------------------------------------------------

/// Adds operations with outputs that pass on to others.
class Builder {
public:
  Builder(const Cudnn &api, const Call &call) : graph(std::make_unique<CudnnGraph>(api)), c(call) {}

  Tensor array(Dims dims, Dims strides) { return graph->array(CUDNN_DATA_BFLOAT16, dims, strides); }
  Tensor passing(Dims dims, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return graph->passing(type, dims, packed(dims));
  }
  Tensor score(cudnnDataType_t type = CUDNN_DATA_FLOAT) { return passing({c.n.b, c.heads(), c.n.s, c.n.t}, type); }
  Tensor row() { return passing(row_dims(c)); }

  Tensor unary(cudnnPointwiseMode_t mode, Tensor x, Tensor y) {
    graph->pointwise(mode, x, y);
    return y;
  }
  Tensor binary(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y) {
    graph->pointwise(mode, x, b, y, CUDNN_DATA_FLOAT);
    return y;
  }
  Tensor index(Tensor x, int64_t axis) {
    const Tensor y = score(CUDNN_DATA_INT32);
    graph->pointwise(CUDNN_POINTWISE_GEN_INDEX, x, y, axis);
    return y;
  }

  /// The score where the key is at or before the query and inside the window, -inf elsewhere.
  Tensor masked(Tensor x) {
    Tensor query = index(x, 2), key = index(x, 3), seen = score(CUDNN_DATA_BOOLEAN), y = score();
    graph->pointwise(CUDNN_POINTWISE_CMP_GE, query, key, seen, CUDNN_DATA_BOOLEAN);
    graph->select(x, graph->constant(-INFINITY), seen, y);
    if (c.n.window <= 0)
      return y;
    // A window's length is a float, and its mask has indices of its own: that is how cuDNN knows a window.
    query = index(y, 2);
    key = index(y, 3);
    const Tensor length = graph->constant(static_cast<float>(c.n.window));
    const Tensor end = binary(CUDNN_POINTWISE_ADD, key, length, score());
    seen = score(CUDNN_DATA_BOOLEAN);
    graph->pointwise(CUDNN_POINTWISE_CMP_GT, end, query, seen, CUDNN_DATA_BOOLEAN);
    const Tensor inside = score();
    graph->select(y, graph->constant(-INFINITY), seen, inside);
    return inside;
  }

  /// A score as [keys, queries] in bfloat16: the left factor of dk and dv.
  Tensor transposed(Tensor x) {
    const int64_t s = c.n.s, t = c.n.t;
    const Tensor y = graph->passing(CUDNN_DATA_BFLOAT16, {c.n.b, c.heads(), t, s}, {c.heads() * s * t, s * t, 1, t});
    graph->reshape(x, y);
    return y;
  }

  /// y = transposed(x) other, summed over the heads that share a key.
  void key_gradient(Tensor x, Tensor other, Tensor y) {
    if (c.n.r == 1)
      return graph->matmul(x, other, y);
    const Tensor all = passing({c.n.b, c.heads(), c.n.t, c.n.d}, CUDNN_DATA_BFLOAT16);
    graph->matmul(x, other, all);
    graph->reduce(CUDNN_REDUCE_TENSOR_ADD, all, y);
  }

  std::unique_ptr<CudnnGraph> graph;
  const Call c;
};

/// Arrays: q, k, v, o, statistics.
std::unique_ptr<CudnnGraph> forward_graph(const Cudnn &api, const Call &c) {
  Builder b(api, c);
  CudnnGraph &graph = *b.graph;
  const Tensor q = b.array(query_dims(c), query_strides(c));
  const Tensor k = b.array(swapped(key_dims(c)), swapped(key_strides(c)));
  const Tensor v = b.array(key_dims(c), key_strides(c)), o = b.array(query_dims(c), query_strides(c));
  const Tensor statistics = graph.array(CUDNN_DATA_FLOAT, row_dims(c), statistics_strides(c));
  const Tensor product = b.score();
  graph.matmul(q, k, product);
  const Tensor x = b.masked(b.binary(CUDNN_POINTWISE_MUL, product, graph.constant(c.n.scale), b.score()));
  const Tensor top = b.row(), total = b.row();
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, x, top);
  const Tensor below = b.binary(CUDNN_POINTWISE_SUB, x, top, b.score());
  const Tensor weight = b.unary(CUDNN_POINTWISE_EXP, below, b.score());
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weight, total);
  const Tensor logarithm = b.unary(CUDNN_POINTWISE_LOG, total, b.row());
  b.binary(CUDNN_POINTWISE_ADD, top, logarithm, statistics);
  const Tensor p = b.binary(CUDNN_POINTWISE_DIV, weight, total, b.score(CUDNN_DATA_BFLOAT16));
  graph.matmul(p, v, o);
  return std::move(b.graph);
}

/// Arrays: q, k, v, o, d_o, statistics, dq, dk, dv, the row sums, and unless deterministic dq in float.
std::unique_ptr<CudnnGraph> gradient_graph(const Cudnn &api, const Call &c, bool deterministic) {
  Builder b(api, c);
  CudnnGraph &graph = *b.graph;
  const Tensor q = b.array(query_dims(c), query_strides(c));
  const Tensor k = b.array(swapped(key_dims(c)), swapped(key_strides(c)));
  const Tensor v = b.array(swapped(key_dims(c)), swapped(key_strides(c)));
  const Tensor o = b.array(query_dims(c), query_strides(c)), d_o = b.array(query_dims(c), query_strides(c));
  const Tensor statistics = graph.array(CUDNN_DATA_FLOAT, row_dims(c), statistics_strides(c));
  const Tensor dq = b.array(query_dims(c), query_strides(c));
  const Tensor dk = b.array(key_dims(c), key_strides(c)), dv = b.array(key_dims(c), key_strides(c));
  const Tensor sums = graph.array(CUDNN_DATA_FLOAT, row_dims(c), packed(row_dims(c)));
  const Tensor scale = graph.constant(c.n.scale);

  const Tensor both = b.binary(CUDNN_POINTWISE_MUL, d_o, o, b.passing(query_dims(c)));
  const Tensor added = b.row();
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, both, added);
  b.binary(CUDNN_POINTWISE_MUL, added, graph.constant(1.0f), sums);

  const Tensor product = b.score();
  graph.matmul(q, k, product);
  const Tensor x = b.binary(CUDNN_POINTWISE_MUL, product, scale, b.score());
  const Tensor below = b.binary(CUDNN_POINTWISE_SUB, x, statistics, b.score());
  const Tensor p = b.unary(CUDNN_POINTWISE_EXP, b.masked(below), b.score());
  b.key_gradient(b.transposed(p), d_o, dv);

  const Tensor slope = b.score();
  graph.matmul(d_o, v, slope);
  const Tensor away = b.binary(CUDNN_POINTWISE_SUB, slope, sums, b.score());
  const Tensor weighted = b.binary(CUDNN_POINTWISE_MUL, away, p, b.score());
  const Tensor ds = b.binary(CUDNN_POINTWISE_MUL, weighted, scale, b.score());
  b.key_gradient(b.transposed(ds), q, dk);

  const Tensor keys = graph.passing(CUDNN_DATA_BFLOAT16, key_dims(c), key_strides(c));
  graph.reshape(k, keys);
  if (deterministic) { // the product into dq itself makes cuDNN store ds, and add its parts in order
    graph.matmul(ds, keys, dq);
  } else {
    const Tensor sum = graph.array(CUDNN_DATA_FLOAT, query_dims(c), packed(query_dims(c)));
    graph.matmul(ds, keys, sum);
    b.unary(CUDNN_POINTWISE_IDENTITY, sum, dq);
  }
  return std::move(b.graph);
}

// ---- Plans --------------------------------------------------------------------------------------------------------

/// s, t, b, g, r, d, scale, window, groups; gradient, deterministic.
using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, float, int64_t, int64_t, bool, bool>;

/// What a rank knows of cuDNN; in CudaDevice::attention.
struct Plans {
  explicit Plans(const Cudnn &of, cudaStream_t stream) : api(of) {
    api.check(api.create(&handle), "cudnnCreate");
    api.check(api.set_stream(handle, stream), "cudnnSetStream");
  }
  ~Plans() {
    graphs.clear();
    api.destroy(handle);
  }
  Plans(const Plans &) = delete;
  Plans &operator=(const Plans &) = delete;
  const Cudnn &api;
  cudnnHandle_t handle = nullptr;
  struct Entry {
    std::unique_ptr<CudnnGraph> graph; ///< null: cuDNN has nothing for it
    std::string reason;
  };
  std::map<Key, Entry> graphs;
};

void notice(const char *what, const std::string &reason) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(reason).second)
    std::fprintf(stderr, "notice: \"%s\" and its like run without cuDNN, more slowly: %s\n", what, reason.c_str());
}

Plans &plans(CudaDevice &device) {
  if (!device.attention)
    device.attention = std::make_shared<Plans>(cudnn(), device.compute());
  return *static_cast<Plans *>(device.attention.get());
}

std::unique_ptr<CudnnGraph> build(Plans &known, const Call &c, bool gradient, bool deterministic) {
  const AttentionShape &n = c.n;
  if (n.d < 64 || n.d > 256 || n.d % 8)
    throw CudnnRefusal{"expected a head dim that is a multiple of 8 from 64 to 256, got " + std::to_string(n.d)};
  if (n.s % 128 && known.api.version() < any_length)
    throw CudnnRefusal{"expected a sequence length that is a multiple of 128 with cuDNN 9.15.0 or older, got " +
                       std::to_string(n.s)};
  std::unique_ptr<CudnnGraph> graph =
      gradient ? gradient_graph(known.api, c, deterministic) : forward_graph(known.api, c);
  graph->build(known.handle);
  return graph;
}

/// Throws CudnnRefusal when cuDNN has nothing for the call.
CudnnGraph &graph_of(Plans &known, const Call &c, bool gradient, bool deterministic) {
  const AttentionShape &n = c.n;
  const Key key{n.s, n.t, n.b, n.g, n.r, n.d, n.scale, n.window, c.groups, gradient, deterministic};
  auto [place, fresh] = known.graphs.try_emplace(key);
  Plans::Entry &entry = place->second;
  if (fresh)
    try {
      entry.graph = build(known, c, gradient, deterministic);
    } catch (const CudnnRefusal &refusal) {
      entry.reason = refusal.message;
    }
  if (!entry.graph)
    throw CudnnRefusal{entry.reason};
  return *entry.graph;
}

bool on_sixteen_bytes(std::initializer_list<const void *> pointers) {
  for (const void *p : pointers)
    if (reinterpret_cast<uintptr_t>(p) % 16)
      return false;
  return true;
}

/// The element `offset` of an array of `size` bytes an element; cuDNN takes no pointers to const.
void *at(const void *p, int64_t offset, int64_t size) {
  return static_cast<char *>(const_cast<void *>(p)) + offset * size;
}

/// Mask and window as graphs have them: a window that hides nothing is none.
AttentionShape normal(AttentionShape n) {
  if (n.window >= n.t)
    n.window = 0;
  return n;
}

void run(Plans &known, CudnnGraph &graph, const char *what, const CudnnGraph::Pointers &pointers) {
  try {
    graph.run(known.handle, pointers);
  } catch (const CudnnRefusal &refusal) {
    throw Failure{5, std::string("\"") + what + "\": " + refusal.message};
  }
}

/// body() and true; false with a notice when it throws CudnnRefusal.
template <class Body> bool unless_refused(const char *what, Body &&body) {
  try {
    body();
    return true;
  } catch (const CudnnRefusal &refusal) {
    notice(what, refusal.message);
    return false;
  }
}

int64_t rounded_up(int64_t bytes) { return (bytes + 255) / 256 * 256; }

} // namespace

bool cudnn_attention(lf_rank *rank, const char *what, const AttentionShape &shape, const void *q, const void *k,
                     const void *v, void *o, void *lse) {
  const Call c{normal(shape), shape.g};
  CudaDevice &device = cuda(rank);
  return unless_refused(what, [&] {
    if (!on_sixteen_bytes({q, k, v, o, lse}))
      throw CudnnRefusal{"expected arrays on 16 bytes, got others"};
    Plans &known = plans(device);
    CudnnGraph &graph = graph_of(known, c, false, false);
    void *workspace = device.scratch<char>(graph.workspace() + 256);
    run(known, graph, what, {at(q, 0, 2), at(k, 0, 2), at(v, 0, 2), o, lse, workspace});
  });
}

bool cudnn_attention_grad(lf_rank *rank, const char *what, const AttentionShape &shape, const void *q, const void *k,
                          const void *v, const void *o, const void *lse, const void *d_o, void *dq, void *dk,
                          void *dv) {
  CudaDevice &device = cuda(rank);
  const bool deterministic = device.deterministic;
  const Call c{normal(shape), deterministic ? deterministic_groups(shape.g, shape.r) : shape.g};
  return unless_refused(what, [&] {
    if (!on_sixteen_bytes({q, k, v, o, lse, d_o, dq, dk, dv}))
      throw CudnnRefusal{"expected arrays on 16 bytes, got others"};
    Plans &known = plans(device);
    CudnnGraph &graph = graph_of(known, c, true, deterministic);
    const int64_t rows = c.n.b * c.heads() * c.n.s, sums = rounded_up(rows * 4);
    const int64_t sum = deterministic ? 0 : rounded_up(rows * c.n.d * 4);
    char *scratch = device.scratch<char>(sums + sum + graph.workspace() + 256);
    for (int64_t group = 0; group < c.n.g; group += c.groups) {
      const int64_t head = group * c.n.r, query = head * c.n.d, key = group * c.n.d;
      CudnnGraph::Pointers pointers = {at(q, query, 2),   at(k, key, 2),    at(v, key, 2),    at(o, query, 2),
                                       at(d_o, query, 2), at(lse, head, 4), at(dq, query, 2), at(dk, key, 2),
                                       at(dv, key, 2),    scratch};
      if (!deterministic)
        pointers.push_back(scratch + sums);
      pointers.push_back(scratch + sums + sum);
      run(known, graph, what, pointers);
    }
  });
}

} // namespace lf::rt
