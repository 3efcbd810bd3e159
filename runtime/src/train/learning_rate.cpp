//===- learning_rate.cpp - The rate of each step --------------------------===//
//
//   rate                 _______
//    lr        /````````        \  decay style
//             /                  \.
//    init    /                    \_________ min
//            0      W          D - S       D      samples
//
//===----------------------------------------------------------------------===//
#include "learning_rate.h"

#include "../rank.h"
#include "../text.h"

#include <algorithm>
#include <cmath>

namespace lf::rt {

LearningRate::LearningRate(const Options &o, int64_t global_batch, int64_t total_samples)
    : lr(o.lr), min(o.min_lr), init(o.warmup_init), style(o.decay_style), wsd_style(o.wsd_style) {
  auto length = [&](std::optional<int64_t> iters, std::optional<int64_t> samples, double otherwise) {
    return iters     ? static_cast<double>(*iters) * static_cast<double>(global_batch)
           : samples ? static_cast<double>(*samples)
                     : otherwise;
  };
  decay = length(o.decay_iters, o.decay_samples, static_cast<double>(total_samples));
  warmup = length(o.warmup_iters, o.warmup_samples, o.warmup_fraction.value_or(0.0) * decay);
  wsd = length(o.wsd_iters, o.wsd_samples, 0.0);
  if (warmup > 0 && warmup >= decay && style != DecayStyle::constant)
    throw Failure{2, "--lr-warmup-iters: expected a warm-up shorter than the decay length of " + number(decay) +
                         " samples (" + number(decay / static_cast<double>(global_batch)) + " steps of " +
                         std::to_string(global_batch) + "), got " + number(warmup) +
                         " samples; lower it or raise --lr-decay-iters"};
  if (wsd > decay)
    throw Failure{2, "--lr-wsd-decay-iters: expected at most the decay length of " + number(decay) + " samples, got " +
                         number(wsd) + "; lower it or raise --lr-decay-iters"};
}

double LearningRate::at(int64_t consumed) const {
  double n = static_cast<double>(consumed);
  if (warmup > 0 && n <= warmup)
    return init + (lr - init) * n / warmup;
  if (style == DecayStyle::constant)
    return lr;
  if (n > decay)
    return min;
  if (style == DecayStyle::inverse_square_root)
    return std::max(min, lr * std::sqrt(std::max(warmup, 1.0)) / std::sqrt(std::max(n, 1.0)));
  double x = (n - warmup) / (decay - warmup), share = 1.0;
  if (style == DecayStyle::linear)
    share = 1.0 - x;
  else if (style == DecayStyle::cosine)
    share = 0.5 * (1.0 + std::cos(M_PI * x));
  else if (double start = decay - wsd; n > start) {
    double y = (n - start) / wsd;
    switch (wsd_style) {
    case WsdStyle::exponential:
      share = 2.0 * std::pow(0.5, y) - 1.0;
      break;
    case WsdStyle::linear:
      share = 1.0 - y;
      break;
    case WsdStyle::cosine:
      share = 0.5 * (1.0 + std::cos(M_PI * y));
      break;
    case WsdStyle::minus_sqrt:
      share = 1.0 - std::sqrt(y);
      break;
    }
  }
  return min + share * (lr - min);
}

} // namespace lf::rt
