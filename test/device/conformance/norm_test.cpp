// norm_test.cpp - norms and their gradients, rotary embedding.
#include "support.h"

using namespace lf::test;

namespace {

constexpr double eps = 1e-5;

struct Row {
  double mean, inverse;
};

Row statistics(const Values &x, int64_t row, int64_t cols, bool centre) {
  double mean = 0.0, squares = 0.0;
  for (int64_t j = 0; centre && j < cols; ++j)
    mean += x[at(row * cols + j)] / static_cast<double>(cols);
  for (int64_t j = 0; j < cols; ++j)
    squares += std::pow(x[at(row * cols + j)] - mean, 2);
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(cols) + eps)};
}

void check(int64_t rows, int64_t cols, bool centre) {
  Rank &c = shared_rank();
  const Values x = random_values(rows * cols, 2.0), w = random_values(cols), b = random_values(cols);
  const Values dy = random_values(rows * cols);
  Values y(x.size()), dx(x.size()), dw(w.size(), 0.0), db(w.size(), 0.0);
  for (int64_t i = 0; i < rows; ++i) {
    const Row s = statistics(x, i, cols, centre);
    double sum = 0.0, dot = 0.0;
    for (int64_t j = 0; j < cols; ++j) {
      const double n = (x[at(i * cols + j)] - s.mean) * s.inverse, d = dy[at(i * cols + j)];
      y[at(i * cols + j)] = n * w[at(j)] + (centre ? b[at(j)] : 0.0);
      sum += d * w[at(j)] / static_cast<double>(cols);
      dot += d * w[at(j)] * n / static_cast<double>(cols);
      dw[at(j)] += d * n;
      db[at(j)] += d;
    }
    for (int64_t j = 0; j < cols; ++j) {
      const double n = (x[at(i * cols + j)] - s.mean) * s.inverse;
      dx[at(i * cols + j)] = s.inverse * (dy[at(i * cols + j)] * w[at(j)] - (centre ? sum : 0.0) - n * dot);
    }
  }
  Floats from(x), weight(w), bias(b), slope(dy);
  Poisoned to(rows * cols), to_x(rows * cols), to_w(cols), to_b(cols);
  if (centre) {
    lf_layer_norm(c, "t", from.data(), weight.data(), bias.data(), to.data(), rows, cols, eps);
    lf_layer_norm_grad(c, "t", from.data(), weight.data(), slope.data(), to_x.data(), to_w.data(), to_b.data(), rows,
                       cols, eps);
    expect_close("db", to_b, db);
  } else {
    lf_rms_norm(c, "t", from.data(), weight.data(), to.data(), rows, cols, eps);
    lf_rms_norm_grad(c, "t", from.data(), weight.data(), slope.data(), to_x.data(), to_w.data(), rows, cols, eps);
  }
  expect_close("y", to, y);
  expect_close("dx", to_x, dx);
  expect_close("dw", to_w, dw);
}

} // namespace

TEST(Norm, RmsNorm) {
  check(1, 1, false);
  check(7, 33, false);
  check(300, 128, false);
  check(70, 1000, false);
}

TEST(Norm, LayerNorm) {
  check(7, 33, true);
  check(300, 128, true);
  check(70, 1000, true);
}

TEST(Rope, TurnsBothWays) {
  Rank &c = shared_rank();
  const int64_t s = 9, b = 2, heads = 3, d = 16;
  const Values x = random_values(s * b * heads * d);
  const Ids pos = random_ids(s, 100000);
  Values frequencies;
  for (int64_t j = 0; j < d / 2; ++j)
    frequencies.push_back(std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(d)));
  const double scale = 1.25;
  for (int32_t inverse : {0, 1}) {
    Values want(x.size());
    for (int64_t i = 0; i < s * b * heads; ++i)
      for (int64_t j = 0; j < d / 2; ++j) {
        const double angle = pos[at(i / (b * heads))] * frequencies[at(j)] * (inverse ? -1 : 1);
        const double first = x[at(i * d + j)], second = x[at(i * d + d / 2 + j)];
        want[at(i * d + j)] = scale * (first * std::cos(angle) - second * std::sin(angle));
        want[at(i * d + d / 2 + j)] = scale * (second * std::cos(angle) + first * std::sin(angle));
      }
    Floats from(x);
    Ints positions(pos);
    Poisoned y(s * b * heads * d);
    lf_rope(c, "t", from.data(), positions.data(), y.data(), s, b, heads, d, frequencies.data(), scale, inverse);
    expect_close("rope", y, want, 1e-6);
  }
}
