// speed.cpp - times of the kernels of a bfloat16 program at the sizes of Llama-3.2-1B, 4096 tokens a sample.
//
// Idea: events around calls in a row on the compute stream, after two that are not counted; arrays are larger than the
// L2 cache where four samples are. Bytes are those of each array once; TFLOP/s count causal attention by halves.
#include "speed.h"

#include "kernels/cuda/round.h"
#include "kernels/kernels.h"
#include "support.h"

#include <cstdio>
#include <functional>

namespace lf::test {
namespace {

constexpr int64_t hidden = 2048, kv_heads = 8, group = 4, head_dim = 64, ffn = 8192, vocabulary = 128256, seq = 4096;

/// Random values that repeat; float or bfloat16.
template <class T> class Filled {
public:
  explicit Filled(int64_t count) {
    const int64_t bytes = count * int64_t(sizeof(T)), first = std::min<int64_t>(count, 1 << 20);
    const std::vector<T> values = all_to<T>(random_values<T>(first));
    LF_CUDA(cudaMalloc(reinterpret_cast<void **>(&data_), at(bytes)));
    LF_CUDA(cudaMemcpy(data_, values.data(), at(first) * sizeof(T), cudaMemcpyHostToDevice));
    for (int64_t done = first; done < count;) {
      const int64_t more = std::min(done, count - done);
      LF_CUDA(cudaMemcpy(data_ + done, data_, at(more) * sizeof(T), cudaMemcpyDeviceToDevice));
      done += more;
    }
    LF_CUDA(cudaDeviceSynchronize());
  }
  Filled(const Filled &) = delete;
  Filled &operator=(const Filled &) = delete;
  ~Filled() { cudaFree(data_); }
  operator T *() const { return data_; }

private:
  T *data_ = nullptr;
};

/// Milliseconds of one call.
double time_of(Rank &c, const std::function<void()> &issue) {
  cudaStream_t stream = rt::cuda(c).compute();
  cudaEvent_t begin = nullptr, end = nullptr;
  LF_CUDA(cudaEventCreate(&begin));
  LF_CUDA(cudaEventCreate(&end));
  constexpr int calls = 10;
  for (int i = 0; i < calls + 2; ++i) {
    if (i == 2)
      LF_CUDA(cudaEventRecord(begin, stream));
    issue();
  }
  LF_CUDA(cudaEventRecord(end, stream));
  LF_CUDA(cudaEventSynchronize(end));
  float ms = 0.0f;
  LF_CUDA(cudaEventElapsedTime(&ms, begin, end));
  LF_CUDA(cudaEventDestroy(begin));
  LF_CUDA(cudaEventDestroy(end));
  return ms / calls;
}

void row(Rank &c, const std::string &name, double work, const char *unit, const std::function<void()> &issue) {
  try {
    const double ms = time_of(c, issue);
    std::printf("%-44s %9.4f ms %9.1f %s\n", name.c_str(), ms, work / ms, unit);
  } catch (const rt::Failure &failure) {
    std::printf("%-44s %s\n", name.c_str(), failure.message.c_str());
  }
  std::fflush(stdout);
}

void bytes(Rank &c, const std::string &name, double count, const std::function<void()> &issue) {
  row(c, name, count / 1e6, "GB/s", issue);
}

void flops(Rank &c, const std::string &name, double count, const std::function<void()> &issue) {
  row(c, name, count / 1e9, "TFLOP/s", issue);
}

void layers(Rank &c, int64_t samples) {
  const int64_t n = samples * seq, wide = n * hidden, up = n * ffn, keys = n * kv_heads * head_dim;
  std::printf("-- %ld x 4096 tokens\n", static_cast<long>(samples));
  Filled<Bf16> x(up), y(up), z(up), u(up), v(up), w(hidden);
  Filled<float> dw(hidden), db(hidden);
  Ints pos(iota(seq));
  const double b = 2.0;
  bytes(c, "copy", 2 * b * wide, [&] { lf_copy(c, "t", x, y, wide, LF_BF16); });
  bytes(c, "accumulate", 3 * b * wide, [&] { lf_accumulate(c, "t", x, y, wide, LF_BF16); });
  const void *terms[] = {static_cast<Bf16 *>(x), static_cast<Bf16 *>(y)};
  bytes(c, "sum of two", 3 * b * wide, [&] { lf_sum(c, "t", terms, 2, z, wide, LF_BF16); });
  bytes(c, "transpose of 8 shards", 2 * b * wide, [&] { lf_transpose(c, "t", x, y, 8, n, hidden / 8, LF_BF16); });
  bytes(c, "slice of 8 shards", 2 * b * wide / 8, [&] { lf_slice(c, "t", x, y, n, 8, hidden / 8, 3, LF_BF16); });
  bytes(c, "rms_norm", 2 * b * wide, [&] { lf_rms_norm(c, "t", x, w, y, n, hidden, 1e-5); });
  bytes(c, "rms_norm_grad", 3 * b * wide, [&] { lf_rms_norm_grad(c, "t", x, w, y, z, dw, n, hidden, 1e-5); });
  bytes(c, "layer_norm", 2 * b * wide, [&] { lf_layer_norm(c, "t", x, w, w, y, n, hidden, 1e-5); });
  bytes(c, "layer_norm_grad", 3 * b * wide, [&] { lf_layer_norm_grad(c, "t", x, w, y, z, dw, db, n, hidden, 1e-5); });
  bytes(c, "bias_add", 2 * b * wide, [&] { lf_bias_add(c, "t", x, w, y, n, hidden); });
  bytes(c, "bias_grad", b * wide, [&] { lf_bias_grad(c, "t", x, db, n, hidden); });
  Values frequencies(at(head_dim / 2), 0.01);
  bytes(c, "rope of queries", 2 * b * wide, [&] {
    lf_rope(c, "t", x, pos.data(), y, seq, samples, kv_heads * group, head_dim, frequencies.data(), 1.0, 0);
  });
  bytes(c, "rope of keys", 2 * b * keys,
        [&] { lf_rope(c, "t", x, pos.data(), y, seq, samples, kv_heads, head_dim, frequencies.data(), 1.0, 0); });
  bytes(c, "glu (silu)", 3 * b * up, [&] { lf_glu(c, "t", x, y, z, up, LF_SILU); });
  bytes(c, "glu_grad (silu)", 5 * b * up, [&] { lf_glu_grad(c, "t", x, y, z, u, v, up, LF_SILU); });
  bytes(c, "activation (gelu_tanh)", 2 * b * up, [&] { lf_activation(c, "t", x, y, up, LF_GELU_TANH); });
  bytes(c, "activation_grad (gelu_tanh)", 3 * b * up, [&] { lf_activation_grad(c, "t", x, y, z, up, LF_GELU_TANH); });
  bytes(c, "activation (gelu)", 2 * b * up, [&] { lf_activation(c, "t", x, y, up, LF_GELU); });
  bytes(c, "dropout", 2 * b * wide, [&] { lf_dropout(c, "t", x, pos.data(), y, seq, samples, hidden, 0.1, 0, 0, 0); });

  auto product = [&](const char *name, int64_t m, int64_t cols, int64_t k, int trans_a, int trans_b, int accumulate,
                     lf_dtype type) {
    Filled<Bf16> p(m * k), q(k * cols);
    Filled<float> to(m * cols);
    flops(c, std::string("matmul ") + name, 2.0 * double(m) * double(cols) * double(k),
          [&] { lf_matmul(c, "t", p, q, static_cast<float *>(to), m, cols, k, trans_a, trans_b, accumulate, type); });
  };
  product("qkv", n, 3072, hidden, 0, 1, 0, LF_BF16);
  product("o", n, hidden, hidden, 0, 1, 0, LF_BF16);
  product("gate and up", n, 2 * ffn, hidden, 0, 1, 0, LF_BF16);
  product("down", n, hidden, ffn, 0, 1, 0, LF_BF16);
  product("down, gradient of x", n, ffn, hidden, 0, 0, 0, LF_BF16);
  product("gate and up, gradient of x", n, hidden, 2 * ffn, 0, 0, 0, LF_BF16);
  product("gate and up, gradient of w, beta 0", 2 * ffn, hidden, n, 1, 0, 0, LF_F32);
  product("gate and up, gradient of w, beta 1", 2 * ffn, hidden, n, 1, 0, 1, LF_F32);

  Filled<float> lse(n * kv_heads * group);
  Ints apart(iota(seq));
  const double half = 2.0 * double(samples) * kv_heads * group * double(seq) * double(seq) / 2 * head_dim;
  for (int64_t window : {int64_t(0), int64_t(1024)}) {
    const std::string suffix = window ? ", window 1024 (as if whole)" : "";
    for (bool deterministic : {false, true}) {
      rt::cuda(c).deterministic = deterministic;
      if (!deterministic)
        flops(c, "attention" + suffix, 2 * half, [&] {
          lf_attention(c, "t", x, y, z, pos.data(), pos.data(), u, lse, seq, seq, samples, kv_heads, group, head_dim,
                       0.125, window);
        });
      flops(c, "attention_grad" + suffix + (deterministic ? ", deterministic" : ""), 5 * half, [&] {
        lf_attention_grad(c, "t", x, y, z, pos.data(), pos.data(), u, lse, v, x + wide, y + wide, z + wide, seq, seq,
                          samples, kv_heads, group, head_dim, 0.125, window);
      });
    }
    rt::cuda(c).deterministic = false;
  }
  if (samples == 1)
    flops(c, "attention by our blocks", 2 * half, [&] {
      lf_attention(c, "t", x, y, z, pos.data(), apart.data(), u, lse, seq, seq, samples, kv_heads, group, head_dim,
                   0.125, 0);
    });
}

void ends(Rank &c, int64_t samples) {
  const int64_t n = samples * seq;
  std::printf("-- embedding and loss, %ld x 4096 tokens\n", static_cast<long>(samples));
  Ints ids(random_ids(n, vocabulary)), labels(random_ids(n, vocabulary));
  const double b = 2.0, table = double(vocabulary) * hidden, logits = double(n) * vocabulary;
  {
    Filled<Bf16> weights(vocabulary * hidden), y(n * hidden);
    Filled<float> gradient(vocabulary * hidden);
    bytes(c, "embedding", 2 * b * double(n) * hidden,
          [&] { lf_embedding(c, "t", ids.data(), weights, y, n, vocabulary, hidden, 0); });
    bytes(c, "embedding_grad", b * double(n) * hidden + 4 * table,
          [&] { lf_embedding_grad(c, "t", ids.data(), y, gradient, n, vocabulary, hidden, 0, 0); });
    Ids heavy = random_ids(n, vocabulary);
    for (size_t i = 0; i < heavy.size(); i += 2)
      heavy[i] = 13;
    Ints repeats(heavy);
    bytes(c, "embedding_grad, half of it one token", b * double(n) * hidden + 4 * table,
          [&] { lf_embedding_grad(c, "t", repeats.data(), y, gradient, n, vocabulary, hidden, 0, 0); });
    Filled<Bf16> l(n * vocabulary);
    Filled<float> m(n), z(n), g(n);
    flops(c, "matmul head", 2 * logits * hidden,
          [&] { lf_matmul(c, "t", y, weights, l, n, vocabulary, hidden, 0, 1, 0, LF_BF16); });
    flops(c, "matmul head, gradient of x", 2 * logits * hidden,
          [&] { lf_matmul(c, "t", l, weights, y, n, hidden, vocabulary, 0, 0, 0, LF_BF16); });
    flops(c, "matmul head, gradient of w, beta 1", 2 * logits * hidden,
          [&] { lf_matmul(c, "t", l, y, gradient, vocabulary, hidden, n, 1, 0, 1, LF_F32); });
    bytes(c, "row_max", b * logits, [&] { lf_row_max(c, "t", l, m, n, vocabulary, 0, vocabulary); });
    bytes(c, "sum_exp", b * logits, [&] { lf_sum_exp(c, "t", l, m, z, n, vocabulary, 0, vocabulary); });
    bytes(c, "cross_entropy_grad, in place", 2 * b * logits,
          [&] { lf_cross_entropy_grad(c, "t", l, m, z, labels.data(), g, l, n, vocabulary, 0, vocabulary); });
  }
}

void optimizer(Rank &c) {
  const int64_t n = int64_t(1) << 28;
  std::printf("-- optimizer, %ld parameters\n", static_cast<long>(n));
  Filled<float> p(n), g(n), m(n), v(n);
  Filled<Bf16> copy(n);
  LF_CUDA(cudaMemset(v, 0, at(n) * 4));
  LF_CUDA(cudaDeviceSynchronize());
  rt::AdamwParameters a;
  a.lr = 1e-4;
  bytes(c, "adamw with rounded weights", 30.0 * double(n), [&] { rt::adamw(c, p, copy, g, m, v, n, a); });
  bytes(c, "square sum", 4.0 * double(n), [&] { rt::add_squares(c.rank, g, n); });
  bytes(c, "round_to_real", 6.0 * double(n), [&] { rt::round_to_real(c, "t", p, copy, n); });
}

} // namespace

void print_speed() {
  Rank &c = shared_rank(LF_BF16);
  layers(c, 1);
  layers(c, 4);
  ends(c, 1);
  ends(c, 4);
  optimizer(c);
}

} // namespace lf::test
