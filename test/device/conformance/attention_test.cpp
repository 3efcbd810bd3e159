// attention_test.cpp - our own attention against plain softmax, over masks, groups, odd sizes and head dims.
//
// Queries and keys have arrays of positions of their own, so that these are the block kernels in bfloat16 too.
#include "attention_reference.h"

#include <algorithm>

using namespace lf::test;

namespace {

Ids shuffled(int64_t count) {
  Ids ids = iota(count);
  std::shuffle(ids.begin(), ids.end(), generator());
  return ids;
}

std::vector<AttentionCase> cases() {
  return {
      {"one token", 1, 1, 1, 1, 1, 3, 0, iota(1), iota(1)},
      {"causal over tiles", 150, 150, 1, 2, 3, 5, 0, iota(150), iota(150)},
      {"exact tiles", 128, 128, 2, 1, 2, 64, 0, iota(128), iota(128)},
      {"head dim 128", 70, 70, 1, 2, 2, 128, 0, iota(70), iota(70)},
      {"head dim 80", 70, 70, 1, 1, 2, 80, 0, iota(70), iota(70)},
      {"head dim 256", 50, 50, 1, 1, 1, 256, 0, iota(50), iota(50)},
      {"window", 150, 150, 1, 1, 2, 6, 17, iota(150), iota(150)},
      {"window of one", 70, 70, 1, 1, 1, 4, 1, iota(70), iota(70)},
      {"a shard of queries", 65, 200, 1, 2, 1, 7, 0, iota(65, 100), iota(200)},
      {"any order", 90, 90, 2, 1, 1, 5, 0, shuffled(90), shuffled(90)},
      {"any order, window", 90, 90, 1, 1, 2, 5, 11, shuffled(90), shuffled(90)},
      {"queries without keys", 150, 90, 1, 1, 2, 5, 0, iota(150), iota(90, 30)},
      {"no visible key at all", 10, 70, 1, 1, 1, 3, 0, iota(10), iota(70, 10)},
  };
}

} // namespace

TEST(Attention, ForwardAndGradient) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (const AttentionCase &n : cases()) {
      SCOPED_TRACE(n.name);
      const int64_t queries = n.queries(), keys = n.keys();
      const Values q = random_values<T>(queries), k = random_values<T>(keys), v = random_values<T>(keys),
                   dy = random_values<T>(queries);
      const AttentionResult want = attention_reference(n, q, k, v, dy);
      Reals<T> fq(q), fk(k), fv(v), fdy(dy), fo(want.o);
      Ints pq(n.pq), pk(n.pk);
      Poisoned<T> o(queries), dq(queries), dk(keys), dv(keys), again_q(queries), again_k(keys), again_v(keys);
      Poisoned<float> lse(n.s * n.heads());
      lf_attention(c, "t", fq.data(), fk.data(), fv.data(), pq.data(), pk.data(), o.data(), lse.data(), n.s, n.t, n.b,
                   n.g, n.r, n.d, n.scale(), n.window);
      expect_close("o", o, want.o);
      expect_close("lse", lse, want.lse);
      auto gradient = [&](Poisoned<T> &dq, Poisoned<T> &dk, Poisoned<T> &dv) {
        lf_attention_grad(c, "t", fq.data(), fk.data(), fv.data(), pq.data(), pk.data(), o.data(), lse.data(),
                          fdy.data(), dq.data(), dk.data(), dv.data(), n.s, n.t, n.b, n.g, n.r, n.d, n.scale(),
                          n.window);
      };
      gradient(dq, dk, dv);
      gradient(again_q, again_k, again_v);
      if (sizeof(T) == 4) {
        expect_close("dq", dq, want.dq);
        expect_close("dk", dk, want.dk);
        expect_close("dv", dv, want.dv);
      } else { // o has been rounded
        expect_near("dq", dq, want.dq, n.d);
        expect_near("dk", dk, want.dk, n.d);
        expect_near("dv", dv, want.dv, n.d);
      }
      expect_same("dq", dq, again_q);
      expect_same("dk", dk, again_k);
      expect_same("dv", dv, again_v);
    }
  });
}

TEST(Attention, RefusesALargeHead) {
  for_reals([](auto, Rank &c) {
    Ints pq(iota(1)), pk(iota(1));
    try {
      lf_attention(c, "t", nullptr, nullptr, nullptr, pq.data(), pk.data(), nullptr, nullptr, 1, 1, 1, 1, 1, 512, 1.0,
                   0);
      ADD_FAILURE() << "expected a Failure";
    } catch (const lf::rt::Failure &failure) {
      EXPECT_EQ(failure.code, 2);
      EXPECT_NE(failure.message.find("expected a head dim of at most 256 on cuda, got 512"), std::string::npos);
    }
  });
}
