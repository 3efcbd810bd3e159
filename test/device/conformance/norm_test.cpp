// norm_test.cpp - norms and their gradients, rotary embedding.
#include "support.h"

#include <array>
#include <initializer_list>

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
  for (int64_t j = 0; j < cols; ++j) {
    const double away = x[at(row * cols + j)] - mean;
    squares += away * away;
  }
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(cols) + eps)};
}

template <class T> void check(Rank &c, int64_t rows, int64_t cols, bool centre, int64_t shift, double offset) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols) + (shift ? ", shifted" : ""));
  Values x = random_values<T>(rows * cols, 2.0);
  for (double &e : x)
    e = rounded<T>(e + offset);
  const Values w = random_values<T>(cols), b = random_values<T>(cols), dy = random_values<T>(rows * cols);
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
  Reals<T> from(x, shift), weight(w, shift), bias(b, shift), slope(dy, shift);
  Poisoned<T> to(rows * cols, shift), to_x(rows * cols, shift), again_x(rows * cols, shift);
  Poisoned<float> to_w(cols), to_b(cols), again_w(cols), again_b(cols);
  auto gradient = [&](Poisoned<T> &dx, Poisoned<float> &dw, Poisoned<float> &db) {
    if (centre)
      lf_layer_norm_grad(c, "t", from.data(), weight.data(), slope.data(), dx.data(), dw.data(), db.data(), rows, cols,
                         eps);
    else
      lf_rms_norm_grad(c, "t", from.data(), weight.data(), slope.data(), dx.data(), dw.data(), rows, cols, eps);
  };
  if (centre)
    lf_layer_norm(c, "t", from.data(), weight.data(), bias.data(), to.data(), rows, cols, eps);
  else
    lf_rms_norm(c, "t", from.data(), weight.data(), to.data(), rows, cols, eps);
  gradient(to_x, to_w, to_b);
  gradient(again_x, again_w, again_b);
  expect_close("y", to, y);
  expect_close("dx", to_x, dx);
  expect_close("dw", to_w, dw);
  expect_same("dx", to_x, again_x);
  expect_same("dw", to_w, again_w);
  if (centre) {
    expect_close("db", to_b, db);
    expect_same("db", to_b, again_b);
  }
}

void check_all(bool centre, std::initializer_list<std::array<int64_t, 3>> sizes) {
  for_reals([&](auto real, Rank &c) {
    for (auto [rows, cols, shift] : sizes)
      check<decltype(real)>(c, rows, cols, centre, shift, 0.0);
    check<decltype(real)>(c, 40, 256, centre, 0, 3.0); // a mean that is not zero
  });
}

/// Columns off and on packs, above what the fused gradient takes, addresses off 16 bytes.
const std::initializer_list<std::array<int64_t, 3>> sizes = {{1, 1, 0},     {7, 33, 0},   {300, 128, 0}, {70, 1000, 0},
                                                             {1, 2048, 0},  {9, 8192, 0}, {5, 8200, 0},  {33, 64, 1},
                                                             {70, 1000, 1}, {3, 16, 0}};

/// Several rows to a block of the fused gradient.
const std::initializer_list<std::array<int64_t, 3>> large = {{1600, 2048, 0}, {1601, 4096, 0}, {5000, 64, 0}};

} // namespace

TEST(Norm, RmsNorm) { check_all(false, sizes); }
TEST(Norm, LargeRmsNorm) { check_all(false, large); }

TEST(Norm, LayerNorm) { check_all(true, sizes); }
TEST(Norm, LargeLayerNorm) { check_all(true, large); }

TEST(Rope, TurnsBothWays) {
  for_reals([](auto real, Rank &c) {
    using T = decltype(real);
    for (auto [s, b, heads, d] :
         {std::array<int64_t, 4>{9, 2, 3, 16}, {40, 2, 8, 64}, {5, 1, 32, 128}, {7, 1, 3, 6}, {3, 4, 5, 80}}) {
      SCOPED_TRACE(d);
      const Values x = random_values<T>(s * b * heads * d);
      const Ids pos = random_ids(s, 100000);
      Values frequencies;
      for (int64_t j = 0; j < d / 2; ++j)
        frequencies.push_back(std::pow(10000.0, -2.0 * static_cast<double>(j) / static_cast<double>(d)));
      const double scale = 1.25;
      for (int32_t inverse : {0, 1})
        for (int64_t shift : {0, 1}) {
          Values want(x.size());
          for (int64_t i = 0; i < s * b * heads; ++i)
            for (int64_t j = 0; j < d / 2; ++j) {
              const double angle = pos[at(i / (b * heads))] * frequencies[at(j)] * (inverse ? -1 : 1);
              const double first = x[at(i * d + j)], second = x[at(i * d + d / 2 + j)];
              want[at(i * d + j)] = scale * (first * std::cos(angle) - second * std::sin(angle));
              want[at(i * d + d / 2 + j)] = scale * (second * std::cos(angle) + first * std::sin(angle));
            }
          Reals<T> from(x, shift);
          Ints positions(pos);
          Poisoned<T> y(s * b * heads * d, shift);
          lf_rope(c, "t", from.data(), positions.data(), y.data(), s, b, heads, d, frequencies.data(), scale, inverse);
          expect_close("rope", y, want, 1e-6);
        }
    }
  });
}
