// norm_test.cpp - RMS norm and layer norm against double, their gradients against differences.
#include "support.h"

using namespace lf::test;

template <class T> class Norm : public testing::Test {};
TYPED_TEST_SUITE(Norm, Reals);

namespace {

constexpr int64_t rows = 5, cols = 37;
constexpr double eps = 1e-5;

/// Rows far from zero, so that a one-pass variance would lose its digits.
struct Input {
  Values x = random_values(rows * cols, 1), w = random_values(cols, 2), b = random_values(cols, 3);
  Values dy = random_values(rows * cols, 4);
  explicit Input(double shift) {
    for (double &e : x)
      e = static_cast<float>(e + shift);
  }
};

Values reference(const Input &n, bool centered) {
  Values y(n.x.size());
  for (int64_t i = 0; i < rows; ++i) {
    double mean = 0.0, squares = 0.0;
    for (int64_t j = 0; j < cols && centered; ++j)
      mean += n.x[static_cast<size_t>(i * cols + j)] / cols;
    for (int64_t j = 0; j < cols; ++j)
      squares += std::pow(n.x[static_cast<size_t>(i * cols + j)] - mean, 2) / cols;
    for (int64_t j = 0; j < cols; ++j)
      y[static_cast<size_t>(i * cols + j)] =
          (n.x[static_cast<size_t>(i * cols + j)] - mean) / std::sqrt(squares + eps) * n.w[static_cast<size_t>(j)] +
          (centered ? n.b[static_cast<size_t>(j)] : 0.0);
  }
  return y;
}

template <class T> struct Gradient {
  std::vector<T> dx = poisoned<T>(rows * cols), dw = poisoned<T>(cols), db = poisoned<T>(cols);
};

template <class T> Gradient<T> rms_gradient(const Input &n) {
  Rank<T> c;
  Gradient<T> g;
  lf_rms_norm_grad(c, "t", as<T>(n.x).data(), as<T>(n.w).data(), as<T>(n.dy).data(), g.dx.data(), g.dw.data(), rows,
                   cols, eps);
  return g;
}

template <class T> Gradient<T> layer_gradient(const Input &n) {
  Rank<T> c;
  Gradient<T> g;
  lf_layer_norm_grad(c, "t", as<T>(n.x).data(), as<T>(n.w).data(), as<T>(n.dy).data(), g.dx.data(), g.dw.data(),
                     g.db.data(), rows, cols, eps);
  return g;
}

} // namespace

TYPED_TEST(Norm, RmsNorm) {
  using T = TypeParam;
  Rank<T> c;
  const Input n(0.3);
  auto y = poisoned<T>(rows * cols);
  lf_rms_norm(c, "t", as<T>(n.x).data(), as<T>(n.w).data(), y.data(), rows, cols, eps);
  expect_close("rms_norm", y, reference(n, false));
  const auto got = rms_gradient<T>(n);
  const auto want = rms_gradient<double>(n);
  expect_close("dx", got.dx, want.dx);
  expect_close("dw", got.dw, want.dw);
}

TYPED_TEST(Norm, LayerNorm) {
  using T = TypeParam;
  Rank<T> c;
  const Input n(20.0);
  auto y = poisoned<T>(rows * cols);
  lf_layer_norm(c, "t", as<T>(n.x).data(), as<T>(n.w).data(), as<T>(n.b).data(), y.data(), rows, cols, eps);
  expect_close("layer_norm", y, reference(n, true));
  const auto got = layer_gradient<T>(n);
  const auto want = layer_gradient<double>(n);
  expect_close("dx", got.dx, want.dx);
  expect_close("dw", got.dw, want.dw);
  expect_close("db", got.db, want.db);
}

TEST(NormGradient, RmsNormAgainstDifferences) {
  Rank<double> c;
  Input n(0.3);
  const auto g = rms_gradient<double>(n);
  const auto loss = [&] {
    Values y(n.x.size());
    lf_rms_norm(c, "t", n.x.data(), n.w.data(), y.data(), rows, cols, eps);
    return dot(y, n.dy);
  };
  expect_gradient("dx", n.x, g.dx, loss);
  expect_gradient("dw", n.w, g.dw, loss);
}

TEST(NormGradient, LayerNormAgainstDifferences) {
  Rank<double> c;
  Input n(0.3);
  const auto g = layer_gradient<double>(n);
  const auto loss = [&] {
    Values y(n.x.size());
    lf_layer_norm(c, "t", n.x.data(), n.w.data(), n.b.data(), y.data(), rows, cols, eps);
    return dot(y, n.dy);
  };
  expect_gradient("dx", n.x, g.dx, loss);
  expect_gradient("dw", n.w, g.dw, loss);
  expect_gradient("db", n.b, g.db, loss);
}
