// attention_test.cpp - attention against plain softmax in double, over masks, groups, odd sizes and head dims.
#include "support.h"

#include <algorithm>

using namespace lf::test;

namespace {

struct Case {
  const char *name;
  int64_t s, t, b, g, r, d, window;
  Ids pq, pk;
};

Ids shuffled(int64_t count) {
  Ids ids = iota(count);
  std::shuffle(ids.begin(), ids.end(), generator());
  return ids;
}

std::vector<Case> cases() {
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
  Rank &c = shared_rank();
  constexpr double none = -std::numeric_limits<double>::infinity();
  for (const Case &n : cases()) {
    SCOPED_TRACE(n.name);
    const int64_t heads = n.b * n.g * n.r, queries = n.s * heads * n.d, keys = n.t * n.b * n.g * n.d;
    const double scale = 1.0 / std::sqrt(static_cast<double>(n.d));
    const Values q = random_values(queries), k = random_values(keys), v = random_values(keys),
                 dy = random_values(queries);
    Values o(q.size(), 0.0), lse(at(n.s * heads), none), dq(q.size(), 0.0), dk(k.size(), 0.0), dv(v.size(), 0.0);
    for (int64_t i = 0; i < n.s; ++i)
      for (int64_t h = 0; h < heads; ++h) {
        auto query = [&](int64_t e) { return at((i * heads + h) * n.d + e); };
        auto key = [&](int64_t j, int64_t e) { return at((j * n.b * n.g + h / n.r) * n.d + e); };
        Values score(at(n.t), none);
        double top = none, total = 0.0, pull = 0.0;
        for (int64_t j = 0; j < n.t; ++j) {
          const int64_t away = int64_t{n.pq[at(i)]} - n.pk[at(j)];
          if (away < 0 || (n.window > 0 && away >= n.window))
            continue;
          score[at(j)] = 0.0;
          for (int64_t e = 0; e < n.d; ++e)
            score[at(j)] += scale * q[query(e)] * k[key(j, e)];
          top = std::max(top, score[at(j)]);
        }
        if (top == none)
          continue;
        for (double x : score)
          total += std::exp(x - top);
        lse[at(i * heads + h)] = top + std::log(total);
        for (int64_t j = 0; j < n.t; ++j)
          for (int64_t e = 0; e < n.d; ++e)
            o[query(e)] += std::exp(score[at(j)] - top) / total * v[key(j, e)];
        for (int64_t e = 0; e < n.d; ++e)
          pull += o[query(e)] * dy[query(e)];
        for (int64_t j = 0; j < n.t; ++j) {
          const double p = std::exp(score[at(j)] - top) / total;
          double dp = 0.0;
          for (int64_t e = 0; e < n.d; ++e) {
            dp += dy[query(e)] * v[key(j, e)];
            dv[key(j, e)] += p * dy[query(e)];
          }
          const double ds = p * (dp - pull) * scale;
          for (int64_t e = 0; e < n.d; ++e) {
            dq[query(e)] += ds * k[key(j, e)];
            dk[key(j, e)] += ds * q[query(e)];
          }
        }
      }
    Floats fq(q), fk(k), fv(v), fdy(dy);
    Ints pq(n.pq), pk(n.pk);
    Poisoned to(queries), to_lse(n.s * heads), to_q(queries), to_k(keys), to_v(keys);
    lf_attention(c, "t", fq.data(), fk.data(), fv.data(), pq.data(), pk.data(), to.data(), to_lse.data(), n.s, n.t, n.b,
                 n.g, n.r, n.d, scale, n.window);
    expect_close("o", to, o);
    expect_close("lse", to_lse, lse);
    lf_attention_grad(c, "t", fq.data(), fk.data(), fv.data(), pq.data(), pk.data(), to.data(), to_lse.data(),
                      fdy.data(), to_q.data(), to_k.data(), to_v.data(), n.s, n.t, n.b, n.g, n.r, n.d, scale, n.window);
    expect_close("dq", to_q, dq);
    expect_close("dk", to_k, dk);
    expect_close("dv", to_v, dv);
    const std::vector<float> first = to_q.get();
    lf_attention_grad(c, "t", fq.data(), fk.data(), fv.data(), pq.data(), pk.data(), to.data(), to_lse.data(),
                      fdy.data(), to_q.data(), to_k.data(), to_v.data(), n.s, n.t, n.b, n.g, n.r, n.d, scale, n.window);
    EXPECT_EQ(first, to_q.get()) << "the same bits in every run";
  }
}

TEST(Attention, RefusesALargeHead) {
  Rank &c = shared_rank();
  try {
    lf_attention(c, "t", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 1, 1, 1, 1, 1, 512, 1.0, 0);
    FAIL() << "expected a Failure";
  } catch (const lf::rt::Failure &failure) {
    EXPECT_EQ(failure.code, 2);
    EXPECT_NE(failure.message.find("expected a head dim of at most 256 on cuda, got 512"), std::string::npos);
  }
}
