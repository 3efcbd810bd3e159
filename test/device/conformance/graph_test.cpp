// graph_test.cpp - kernels in a captured CUDA graph give the bits that they give when issued one by one.
#include "support.h"

#include <functional>

using namespace lf::test;

namespace {

/// Issues once plainly, captures, replays twice; `outputs` must hold the same bits each time.
void check(Rank &c, const std::function<void()> &issue, const std::function<std::vector<float>()> &outputs) {
  issue();
  const std::vector<float> want = outputs();
  cudaStream_t stream = lf::rt::cuda(c).compute();
  cudaGraph_t graph = nullptr;
  LF_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  issue();
  LF_CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t ready = nullptr;
  LF_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  for (int run = 0; run < 2; ++run) {
    LF_CUDA(cudaGraphLaunch(ready, stream));
    EXPECT_EQ(std::memcmp(want.data(), outputs().data(), want.size() * sizeof(float)), 0)
        << "expected a replay to give the bits of plain calls";
  }
  LF_CUDA(cudaGraphExecDestroy(ready));
  LF_CUDA(cudaGraphDestroy(graph));
}

} // namespace

TEST(Graph, KernelsReplay) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    const int64_t tokens = 512, h = 256, rows = 1000;
    Ints ids(random_ids(tokens, 1000));
    Reals<T> x(random_values<T>(tokens * h)), w(random_values<T>(h)), dy(random_values<T>(tokens * h));
    Poisoned<T> dx(tokens * h);
    Poisoned<float> dw(h), dtable(rows * h), product(h * h);
    check(
        c,
        [&] {
          lf_rms_norm_grad(c, "t", x.data(), w.data(), dy.data(), dx.data(), dw.data(), tokens, h, 1e-5);
          lf_embedding_grad(c, "t", ids.data(), dx.data(), dtable.data(), tokens, rows, h, 0, 0);
          lf_matmul(c, "t", x.data(), dx.data(), product.data(), h, h, tokens, 1, 0, 0, LF_F32);
        },
        [&] {
          std::vector<float> all = dw.get(), more = dtable.get(), last = product.get();
          all.insert(all.end(), more.begin(), more.end());
          all.insert(all.end(), last.begin(), last.end());
          return all;
        });
  });
}

// The forward and, deterministic, the gradient: by cuDNN in bfloat16.
TEST(Graph, AttentionReplays) {
  Rank c(LF_BF16);
  lf::rt::cuda(c).deterministic = true;
  const int64_t s = 256, b = 2, g = 2, r = 4, d = 64, queries = s * b * g * r * d, keys = s * b * g * d;
  Reals<Bf16> q(random_values<Bf16>(queries)), k(random_values<Bf16>(keys)), v(random_values<Bf16>(keys)),
      dy(random_values<Bf16>(queries));
  Poisoned<Bf16> o(queries), dq(queries), dk(keys), dv(keys);
  Poisoned<float> lse(s * b * g * r);
  Ints pos(iota(s));
  check(
      c,
      [&] {
        lf_attention(c, "t", q.data(), k.data(), v.data(), pos.data(), pos.data(), o.data(), lse.data(), s, s, b, g, r,
                     d, 0.125, 0);
        lf_attention_grad(c, "t", q.data(), k.data(), v.data(), pos.data(), pos.data(), o.data(), lse.data(), dy.data(),
                          dq.data(), dk.data(), dv.data(), s, s, b, g, r, d, 0.125, 0);
      },
      [&] {
        std::vector<float> all = lse.get();
        for (Poisoned<Bf16> *array : {&o, &dq, &dk, &dv})
          for (Bf16 x : array->get())
            all.push_back(static_cast<float>(from(x)));
        return all;
      });
}
