// cudnn_test.cpp - attention by cuDNN against plain softmax and against our own, its determinism, its memory.
#include "attention_reference.h"
#include "kernels/cuda/cudnn_attention.h"

#include <array>

using namespace lf::test;
using lf::rt::AttentionShape;

namespace {

AttentionShape shape(const AttentionCase &n) {
  return {n.s, n.t, n.b, n.g, n.r, n.d, static_cast<float>(n.scale()), n.window};
}

AttentionCase whole(const char *name, int64_t s, int64_t b, int64_t g, int64_t r, int64_t d, int64_t window = 0) {
  return {name, s, s, b, g, r, d, window, iota(s), iota(s)};
}

/// The arrays of one case on the device.
struct Arrays {
  explicit Arrays(const AttentionCase &of)
      : n(of), q(random_values<Bf16>(n.queries())), k(random_values<Bf16>(n.keys())), v(random_values<Bf16>(n.keys())),
        d_o(random_values<Bf16>(n.queries())), o(n.queries()), dq(n.queries()), dk(n.keys()), dv(n.keys()),
        lse(n.s * n.heads()) {}
  bool forward(Rank &c) {
    return lf::rt::cudnn_attention(c, "attention", shape(n), q.data(), k.data(), v.data(), o.data(), lse.data());
  }
  bool gradient(Rank &c) {
    return lf::rt::cudnn_attention_grad(c, "attention_grad", shape(n), q.data(), k.data(), v.data(), o.data(),
                                        lse.data(), d_o.data(), dq.data(), dk.data(), dv.data());
  }
  const AttentionCase n;
  Reals<Bf16> q, k, v, d_o;
  Poisoned<Bf16> o, dq, dk, dv;
  Poisoned<float> lse;
};

/// Fills the scratch with NaN, so that nothing counts on zeros there.
void poison_scratch(Rank &c, int64_t bytes) {
  LF_CUDA(cudaMemset(lf::rt::cuda(c).scratch<char>(bytes), 0xff, at(bytes)));
  LF_CUDA(cudaDeviceSynchronize());
}

/// A rank of its own in one of the two modes.
std::unique_ptr<Rank> rank(bool deterministic) {
  auto c = std::make_unique<Rank>(LF_BF16);
  lf::rt::cuda(*c).deterministic = deterministic;
  return c;
}

void check(Rank &c, const AttentionCase &n) {
  SCOPED_TRACE(n.name);
  Arrays x(n);
  const AttentionResult want = attention_reference(n, values_of(x.q), values_of(x.k), values_of(x.v), values_of(x.d_o));
  poison_scratch(c, lf::rt::attention_grad_scratch(shape(n), lf::rt::cuda(c).deterministic));
  ASSERT_TRUE(x.forward(c)) << "cuDNN does not serve: the notice says why";
  expect_near("o", x.o, want.o, n.d);
  expect_close("lse", x.lse, want.lse, 1e-5);
  ASSERT_TRUE(x.gradient(c)) << "cuDNN does not serve: the notice says why";
  expect_near("dq", x.dq, want.dq, n.d);
  expect_near("dk", x.dk, want.dk, n.d);
  expect_near("dv", x.dv, want.dv, n.d);
}

} // namespace

TEST(Cudnn, ForwardAndGradient) {
  for (bool deterministic : {false, true}) {
    SCOPED_TRACE(deterministic ? "deterministic" : "not deterministic");
    const std::unique_ptr<Rank> c = rank(deterministic);
    check(*c, whole("one head", 128, 1, 1, 1, 64));
    check(*c, whole("heads of their own", 256, 2, 3, 1, 64));
    check(*c, whole("five heads of their own", 128, 1, 5, 1, 64));
    check(*c, whole("grouped heads", 256, 2, 2, 4, 64));
    check(*c, whole("pairs", 384, 1, 3, 2, 64));
    check(*c, whole("threes", 128, 2, 4, 3, 64));
    check(*c, whole("one key head", 256, 1, 1, 8, 128));
    check(*c, whole("head dim 128", 384, 2, 2, 2, 128));
    check(*c, whole("head dim 80", 256, 1, 2, 1, 80));
    check(*c, whole("head dim 96", 256, 2, 2, 2, 96));
    check(*c, whole("head dim 256", 256, 1, 2, 1, 256));
  }
}

TEST(Cudnn, Windows) {
  for (bool deterministic : {false, true}) {
    SCOPED_TRACE(deterministic ? "deterministic" : "not deterministic");
    const std::unique_ptr<Rank> c = rank(deterministic);
    check(*c, whole("window 100", 384, 2, 2, 2, 64, 100));
    check(*c, whole("window 1", 256, 1, 2, 1, 64, 1));
    check(*c, whole("window 128", 512, 1, 1, 4, 128, 128));
    check(*c, whole("window 37", 256, 1, 1, 2, 128, 37));
    check(*c, whole("window of everything", 256, 1, 2, 2, 64, 256));
    check(*c, whole("window beyond everything", 256, 1, 2, 2, 64, 1000));
  }
}

// The entry points choose cuDNN for one array of positions; lengths off 128 go to it or to ours, right either way.
TEST(Cudnn, EntryPointsAtAnyLength) {
  Rank &c = shared_rank(LF_BF16);
  for (const AttentionCase &n :
       {whole("128", 256, 1, 2, 2, 64), whole("200", 200, 2, 1, 2, 64), whole("1", 1, 2, 1, 2, 64),
        whole("odd head", 130, 1, 1, 2, 40), whole("window", 200, 1, 2, 1, 64, 50)}) {
    SCOPED_TRACE(n.name);
    Arrays x(n);
    Ints positions(iota(n.s));
    const AttentionResult want =
        attention_reference(n, values_of(x.q), values_of(x.k), values_of(x.v), values_of(x.d_o));
    lf_attention(c, "t", x.q.data(), x.k.data(), x.v.data(), positions.data(), positions.data(), x.o.data(),
                 x.lse.data(), n.s, n.t, n.b, n.g, n.r, n.d, n.scale(), n.window);
    lf_attention_grad(c, "t", x.q.data(), x.k.data(), x.v.data(), positions.data(), positions.data(), x.o.data(),
                      x.lse.data(), x.d_o.data(), x.dq.data(), x.dk.data(), x.dv.data(), n.s, n.t, n.b, n.g, n.r, n.d,
                      n.scale(), n.window);
    expect_near("o", x.o, want.o, n.d);
    expect_close("lse", x.lse, want.lse, 1e-5);
    expect_near("dq", x.dq, want.dq, n.d);
    expect_near("dk", x.dk, want.dk, n.d);
    expect_near("dv", x.dv, want.dv, n.d);
  }
}

// Too large for a reference in double: ours is one, in float.
TEST(Cudnn, LargeShapesAgreeWithOurOwn) {
  for (const AttentionCase &n : {whole("d 64", 2048, 1, 8, 4, 64), whole("d 128", 1024, 2, 4, 2, 128),
                                 whole("d 64, window", 2048, 2, 2, 4, 64, 512)})
    for (bool deterministic : {false, true}) {
      SCOPED_TRACE(std::string(n.name) + (deterministic ? ", deterministic" : ""));
      const std::unique_ptr<Rank> c = rank(deterministic);
      Arrays x(n);
      Ints pq(n.pq), pk(n.pk);
      Poisoned<Bf16> o(n.queries()), dq(n.queries()), dk(n.keys()), dv(n.keys());
      Poisoned<float> lse(n.s * n.heads());
      lf_attention(*c, "t", x.q.data(), x.k.data(), x.v.data(), pq.data(), pk.data(), o.data(), lse.data(), n.s, n.t,
                   n.b, n.g, n.r, n.d, n.scale(), n.window);
      lf_attention_grad(*c, "t", x.q.data(), x.k.data(), x.v.data(), pq.data(), pk.data(), o.data(), lse.data(),
                        x.d_o.data(), dq.data(), dk.data(), dv.data(), n.s, n.t, n.b, n.g, n.r, n.d, n.scale(),
                        n.window);
      ASSERT_TRUE(x.forward(*c));
      ASSERT_TRUE(x.gradient(*c));
      expect_near("o", x.o, values_of(o), n.d);
      expect_close("lse", x.lse, values_of(lse), 1e-5);
      expect_near("dq", x.dq, values_of(dq), n.d);
      expect_near("dk", x.dk, values_of(dk), n.d);
      expect_near("dv", x.dv, values_of(dv), n.d);
    }
}

TEST(Cudnn, DeterministicGradientsRepeatTheirBits) {
  const std::unique_ptr<Rank> c = rank(true);
  for (const AttentionCase &n : {whole("grouped", 1024, 2, 2, 4, 64), whole("heads of their own", 1024, 1, 4, 1, 128),
                                 whole("window", 1024, 1, 2, 2, 64, 200)}) {
    SCOPED_TRACE(n.name);
    Arrays x(n);
    Poisoned<Bf16> o(n.queries());
    Poisoned<float> lse(n.s * n.heads());
    ASSERT_TRUE(x.forward(*c));
    ASSERT_TRUE(lf::rt::cudnn_attention(*c, "t", shape(n), x.q.data(), x.k.data(), x.v.data(), o.data(), lse.data()));
    expect_same("o", x.o, o);
    expect_same("lse", x.lse, lse);
    ASSERT_TRUE(x.gradient(*c));
    for (int run = 0; run < 3; ++run) {
      Poisoned<Bf16> dq(n.queries()), dk(n.keys()), dv(n.keys());
      ASSERT_TRUE(lf::rt::cudnn_attention_grad(*c, "t", shape(n), x.q.data(), x.k.data(), x.v.data(), x.o.data(),
                                               x.lse.data(), x.d_o.data(), dq.data(), dk.data(), dv.data()));
      expect_same("dq", x.dq, dq);
      expect_same("dk", x.dk, dk);
      expect_same("dv", x.dv, dv);
    }
  }
}

// What a planner counts is what a plan takes.
TEST(Cudnn, ScratchIsStated) {
  for (bool deterministic : {false, true})
    for (const AttentionCase &n :
         {whole("grouped", 2048, 2, 8, 4, 64), whole("heads of their own", 2048, 1, 16, 1, 128)}) {
      SCOPED_TRACE(std::string(n.name) + (deterministic ? ", deterministic" : ""));
      const std::unique_ptr<Rank> c = rank(deterministic);
      Arrays x(n);
      ASSERT_TRUE(x.forward(*c));
      ASSERT_TRUE(x.gradient(*c));
      const int64_t stated = lf::rt::attention_grad_scratch(shape(n), deterministic);
      ASSERT_GT(stated, int64_t(16) << 20) << "expected a shape that needs more than any rank has at first";
      EXPECT_LE(lf::rt::cuda(*c).scratch_size(), stated);
      EXPECT_GE(lf::rt::cuda(*c).scratch_size(), stated - (int64_t(16) << 20));
    }
}
