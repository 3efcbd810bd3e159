// elementwise_test.cpp - copies, sums, slices, transposes, activations, dropout.
#include "kernels/cpu/philox.h"
#include "support.h"

using namespace lf::test;

TEST(Elementwise, CopiesFillsAndSums) {
  Rank &c = shared_rank();
  const int64_t n = 100003;
  const Values x = random_values(n), y = random_values(n);
  Floats a(x), b(y);
  Poisoned copied(n), zeroed(n), filled(n), spread(n);
  lf_copy(c, "t", a.data(), copied.data(), n, LF_F32);
  lf_zero(c, "t", zeroed.data(), n, LF_F32);
  lf_fill(c, "t", filled.data(), 0.75, n);
  lf_broadcast(c, "t", a.data(), spread.data(), n);
  expect_close("copy", copied, x, 0.0);
  expect_close("zero", zeroed, Values(at(n), 0.0), 0.0);
  expect_close("fill", filled, Values(at(n), 0.75), 0.0);
  expect_close("broadcast", spread, Values(at(n), x[0]), 0.0);
  lf_accumulate(c, "t", a.data(), b.data(), n, LF_F32);
  Values want(at(n));
  for (int64_t i = 0; i < n; ++i)
    want[at(i)] = static_cast<float>(x[at(i)] + y[at(i)]);
  expect_close("accumulate", b, want, 0.0);
}

TEST(Elementwise, SumKeepsTheOrderOfItsTerms) {
  Rank &c = shared_rank();
  const int64_t n = 777;
  for (int32_t terms : {0, 1, 2, 5, 16, 17, 40}) {
    std::vector<std::unique_ptr<Floats>> arrays;
    std::vector<const void *> pointers;
    std::vector<float> sum(at(n), 0.0f);
    for (int32_t t = 0; t < terms; ++t) {
      const Values x = random_values(n);
      for (int64_t i = 0; i < n; ++i)
        sum[at(i)] = t ? sum[at(i)] + static_cast<float>(x[at(i)]) : static_cast<float>(x[at(i)]);
      arrays.push_back(std::make_unique<Floats>(x));
      pointers.push_back(arrays.back()->data());
    }
    Poisoned y(n);
    lf_sum(c, "t", pointers.data(), terms, y.data(), n, LF_F32);
    expect_close("sum", y, Values(sum.begin(), sum.end()), 0.0);
  }
}

TEST(Elementwise, SlicesAndTransposes) {
  Rank &c = shared_rank();
  const int64_t a = 7, b = 5, inner = 33;
  const Values x = random_values(a * b * inner);
  Floats from(x);
  Poisoned sliced(a * inner), turned(a * b * inner);
  lf_slice(c, "t", from.data(), sliced.data(), a, b, inner, 3, LF_F32);
  lf_transpose(c, "t", from.data(), turned.data(), a, b, inner, LF_F32);
  Values slice(at(a * inner)), transpose(x.size());
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t e = 0; e < inner; ++e) {
        transpose[at((j * a + i) * inner + e)] = x[at((i * b + j) * inner + e)];
        if (j == 3)
          slice[at(i * inner + e)] = x[at((i * b + j) * inner + e)];
      }
  expect_close("slice", sliced, slice, 0.0);
  expect_close("transpose", turned, transpose, 0.0);
}

TEST(Elementwise, ReducesToOneReal) {
  Rank &c = shared_rank();
  for (int64_t n : {1, 255, 256, 5000}) {
    const Values x = random_values(n);
    Ids labels = random_ids(n, 10);
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      labels[at(i)] -= 3;
      sum += x[at(i)];
      count += labels[at(i)] >= 0;
    }
    Floats from(x);
    Ints ids(labels);
    Poisoned total(1), counted(1);
    lf_sum_all(c, "t", from.data(), total.data(), n);
    lf_count(c, "t", ids.data(), counted.data(), n);
    expect_close("sum_all", total, {sum}, 1e-6);
    expect_close("count", counted, {count}, 0.0);
  }
}

namespace {

double value(lf_activation_kind kind, double x) {
  switch (kind) {
  case LF_SILU:
    return x / (1.0 + std::exp(-x));
  case LF_GELU:
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  case LF_GELU_TANH:
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  case LF_RELU:
    return x > 0 ? x : 0;
  }
  return 0;
}

double slope(lf_activation_kind kind, double x) {
  const double h = 1e-6;
  return kind == LF_RELU ? (x > 0 ? 1.0 : 0.0) : (value(kind, x + h) - value(kind, x - h)) / (2 * h);
}

} // namespace

TEST(Elementwise, ActivationsAndGatedUnits) {
  Rank &c = shared_rank();
  const int64_t n = 4097;
  for (lf_activation_kind kind : {LF_SILU, LF_GELU, LF_GELU_TANH, LF_RELU}) {
    const Values gate = random_values(n, 6.0), up = random_values(n), dy = random_values(n);
    Floats g(gate), u(up), d(dy);
    Poisoned y(n), dx(n), unit(n), dgate(n), dup(n);
    lf_activation(c, "t", g.data(), y.data(), n, kind);
    lf_activation_grad(c, "t", g.data(), d.data(), dx.data(), n, kind);
    lf_glu(c, "t", g.data(), u.data(), unit.data(), n, kind);
    lf_glu_grad(c, "t", g.data(), u.data(), d.data(), dgate.data(), dup.data(), n, kind);
    Values a(at(n)), b(at(n)), e(at(n)), f(at(n)), h(at(n));
    for (size_t i = 0; i < gate.size(); ++i) {
      a[i] = value(kind, gate[i]);
      b[i] = dy[i] * slope(kind, gate[i]);
      e[i] = a[i] * up[i];
      f[i] = b[i] * up[i];
      h[i] = dy[i] * a[i];
    }
    expect_close("activation", y, a);
    expect_close("activation_grad", dx, b);
    expect_close("glu", unit, e);
    expect_close("glu_grad gate", dgate, f);
    expect_close("glu_grad up", dup, h);
    // Over what they are computed from.
    Floats over(gate), first(gate), second(up);
    lf_activation_grad(c, "t", over.data(), d.data(), over.data(), n, kind);
    lf_glu_grad(c, "t", first.data(), second.data(), d.data(), first.data(), second.data(), n, kind);
    expect_close("activation_grad in place", over, b);
    expect_close("glu_grad gate in place", first, f);
    expect_close("glu_grad up in place", second, h);
  }
}

TEST(Elementwise, DropoutDrawsTheMaskOfTheCpu) {
  Rank &c = shared_rank();
  c.rank.step.step = 5;
  c.rank.at.layer = 3;
  c.rank.at.micro_batch = 2;
  const int64_t s = 6, b = 3, h = 37, h_offset = 10, b_offset = 4, site = 1;
  const double p = 0.3;
  const Values x = random_values(s * b * h);
  const Ids pos = iota(s, 100);
  const lf::rt::PhiloxCounter words = lf::rt::philox({5, 0, 3, static_cast<uint32_t>(site)}, {77, 0});
  const lf::rt::PhiloxKey key{words[0], words[1]};
  Values want(x.size());
  int64_t dropped = 0;
  for (int64_t i = 0; i < s * b * h; ++i) {
    const int64_t channel = h_offset + i % h, row = i / h;
    const uint32_t sample = static_cast<uint32_t>(2 * 2 + b_offset + row % b);
    const auto draw =
        lf::rt::philox({static_cast<uint32_t>(channel / 4), static_cast<uint32_t>(pos[at(row / b)]), sample, 0}, key);
    const bool drop = draw[at(channel % 4)] < static_cast<uint32_t>(p * 4294967296.0);
    dropped += drop;
    want[at(i)] = drop ? 0.0 : x[at(i)] / (1.0 - p);
  }
  EXPECT_GT(dropped, s * b * h / 5);
  Floats from(x);
  Ints positions(pos);
  Poisoned y(s * b * h);
  lf_dropout(c, "t", from.data(), positions.data(), y.data(), s, b, h, p, static_cast<int32_t>(site), b_offset,
             h_offset);
  expect_close("dropout", y, want, 1e-6);
}
