// optimizer_test.cpp - AdamW, and the sums of a step.
#include "kernels/kernels.h"
#include "support.h"

using namespace lf::test;

namespace {

void check(lf_dtype dtype, int64_t n, int64_t shift) {
  SCOPED_TRACE(std::to_string(n) + (dtype == LF_BF16 ? ", bfloat16" : ", float32"));
  Rank &c = shared_rank(dtype);
  Values p = random_values(n), g = random_values(n), m = random_values(n, 0.1), v = random_values(n, 0.1);
  for (double &e : v)
    e = rounded<float>(std::fabs(e) + 1e-4); // so that a step is a fair part of the weights
  Floats fp(p, shift), fg(g, shift), fm(m, shift), fv(v, shift);
  Poisoned<Bf16> rounded_p(n, shift);
  lf::rt::AdamwParameters a;
  a.lr = 0.01;
  a.beta2 = 0.95;
  a.weight_decay = 0.1;
  a.grad_scale = 0.5;
  a.step = 3;
  lf::rt::adamw(c, fp.data(), dtype == LF_BF16 ? rounded_p.data() : nullptr, fg.data(), fm.data(), fv.data(), n, a);
  const double rest1 = 1 - std::pow(a.beta1, 3), rest2 = 1 - std::pow(a.beta2, 3);
  for (size_t i = 0; i < p.size(); ++i) {
    const double grad = g[i] * a.grad_scale;
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * grad;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * grad * grad;
    p[i] *= 1 - a.lr * a.weight_decay;
    p[i] -= a.lr / rest1 * m[i] / (std::sqrt(v[i] / rest2) + a.eps);
  }
  expect_close("p", fp, p, 2e-6);
  expect_close("m", fm, m, 1e-6);
  expect_close("v", fv, v, 1e-6);
  if (dtype == LF_BF16) {
    Values copy;
    for (double x : values_of(fp))
      copy.push_back(rounded<Bf16>(x));
    expect_close("the rounded weights are those of the masters", rounded_p, copy, 0.0);
  }
}

} // namespace

TEST(Optimizer, AdamwMovesAsPyTorch) {
  for (lf_dtype dtype : {LF_F32, LF_BF16})
    for (auto [n, shift] : {std::pair<int64_t, int64_t>{1, 0}, {5000, 0}, {5003, 0}, {5003, 1}})
      check(dtype, n, shift);
}

// More than one pass of the grid.
TEST(Optimizer, LargeAdamw) { check(LF_BF16, 17000001, 0); }

TEST(Step, SumsStayOnTheDeviceUntilTheyAreRead) {
  for_reals([](auto, Rank &c) {
    double squares = 0.0;
    lf::rt::zero_step_sums(c.rank);
    Floats loss(Values{2.5, 4.0});
    lf::rt::add_loss(c.rank, loss.data(), loss.data() + 1);
    lf::rt::add_loss(c.rank, loss.data() + 1, loss.data());
    for (auto [n, shift] :
         {std::pair<int64_t, int64_t>{1, 0}, {4096, 0}, {4097, 0}, {4097, 1}, {1000000, 0}, {20000001, 0}}) {
      const Values x = random_values(n);
      long double exact = 0.0L; // twenty million additions in double are off by more than the kernel is
      for (double e : x)
        exact += static_cast<long double>(e * e);
      const double sum = static_cast<double>(exact);
      squares += sum;
      Floats from(x, shift);
      lf::rt::add_squares(c.rank, from.data(), n);
      const double alone = lf::rt::square_sum(c, from.data(), n);
      EXPECT_NEAR(alone, sum, 1e-12 * (1 + sum));
      EXPECT_EQ(alone, lf::rt::square_sum(c, from.data(), n)) << "the same bits in every run";
    }
    lf::rt::read_step_sums(c.rank);
    EXPECT_EQ(c.rank.step.loss_sum, 6.5);
    EXPECT_EQ(c.rank.step.count, 6.5);
    EXPECT_NEAR(c.rank.step.square_sum, squares, 1e-12 * squares);
  });
}

// Larger than the pinned slots, and not a multiple of them.
TEST(Step, UploadsInPieces) {
  Rank &c = shared_rank();
  const int64_t n = 3000001;
  const Values x = random_values(n);
  const std::vector<float> host(x.begin(), x.end());
  Poisoned<float> to(n);
  lf::rt::copy_to_device(c.rank, to.data(), host.data(), n * 4);
  std::vector<float> back(at(n));
  lf::rt::copy_to_host(c.rank, back.data(), to.data(), n * 4);
  EXPECT_EQ(host, back);
}
