// attention_reference.cpp - attention and its gradient, one score at a time.
#include "attention_reference.h"

namespace lf::test {

AttentionResult attention_reference(const AttentionCase &n, const Values &q, const Values &k, const Values &v,
                                    const Values &dy) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const int64_t heads = n.heads(), d = n.d;
  const double scale = n.scale();
  AttentionResult to{Values(q.size(), 0.0), Values(at(n.s * heads), none), Values(q.size(), 0.0), Values(k.size(), 0.0),
                     Values(v.size(), 0.0)};
  Values p(at(n.t));
  for (int64_t i = 0; i < n.s; ++i)
    for (int64_t h = 0; h < heads; ++h) {
      const double *query = &q[at((i * heads + h) * d)], *slope = &dy[at((i * heads + h) * d)];
      double *o = &to.o[at((i * heads + h) * d)], *dq = &to.dq[at((i * heads + h) * d)];
      auto row = [&](int64_t j) { return at((j * n.b * n.g + h / n.r) * d); };
      double top = none, total = 0.0, pull = 0.0;
      for (int64_t j = 0; j < n.t; ++j) {
        const int64_t away = int64_t{n.pq[at(i)]} - n.pk[at(j)];
        double &score = p[at(j)] = none;
        if (away < 0 || (n.window > 0 && away >= n.window))
          continue;
        score = 0.0;
        for (int64_t e = 0; e < d; ++e)
          score += scale * query[e] * k[row(j) + at(e)];
        top = std::max(top, score);
      }
      if (top == none)
        continue;
      for (double &x : p)
        total += x = x == none ? 0.0 : std::exp(x - top);
      to.lse[at(i * heads + h)] = top + std::log(total);
      for (int64_t j = 0; j < n.t; ++j)
        if (p[at(j)] /= total; p[at(j)] > 0.0)
          for (int64_t e = 0; e < d; ++e)
            o[e] += p[at(j)] * v[row(j) + at(e)];
      for (int64_t e = 0; e < d; ++e)
        pull += o[e] * slope[e];
      for (int64_t j = 0; j < n.t; ++j) {
        if (p[at(j)] == 0.0)
          continue;
        double dp = 0.0;
        for (int64_t e = 0; e < d; ++e) {
          dp += slope[e] * v[row(j) + at(e)];
          to.dv[row(j) + at(e)] += p[at(j)] * slope[e];
        }
        const double ds = p[at(j)] * (dp - pull) * scale;
        for (int64_t e = 0; e < d; ++e) {
          dq[e] += ds * k[row(j) + at(e)];
          to.dk[row(j) + at(e)] += ds * query[e];
        }
      }
    }
  return to;
}

} // namespace lf::test
