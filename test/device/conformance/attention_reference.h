// attention_reference.h - attention and its gradient as plain softmax in double.
#pragma once

#include "support.h"

namespace lf::test {

struct AttentionCase {
  const char *name;
  int64_t s, t, b, g, r, d, window;
  Ids pq, pk;
  int64_t heads() const { return b * g * r; }
  int64_t queries() const { return s * heads() * d; }
  int64_t keys() const { return t * b * g * d; }
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(d)); }
};

struct AttentionResult {
  Values o, lse, dq, dk, dv;
};

/// Of q, dy [s, b, g, r, d] and k, v [t, b, g, d]. o and the gradients are of the exact numbers, without any rounding.
AttentionResult attention_reference(const AttentionCase &, const Values &q, const Values &k, const Values &v,
                                    const Values &dy);

} // namespace lf::test
