// math.h - exponential and error function in a form that loops can vectorise.
//
// Idea: float has branch-free versions, exact to about one unit in the last place of 1; double, which verifies, takes
// the C library's.
#pragma once

#include "kernels/cpu/wide.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace lf::rt {

/// e^x; 0 below -87.3, not above e^88.37 (no infinity); NaN stays NaN.
LF_INLINE float fast_exp(float x) {
  constexpr float lowest = -87.3f, highest = 88.37f;
  // Adding 1.5 * 2^23 leaves round(x / ln 2) in the low bits of the sum.
  constexpr float shift = 12582912.0f;
  const float clamped = x > highest ? highest : (x < lowest ? lowest : x);
  const float shifted = clamped * 1.44269504f + shift;
  const float n = shifted - shift;
  // ln 2 in two parts, the first with enough trailing zeros that n times it is exact.
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  // Taylor to the seventh power: on |r| <= ln(2) / 2 the rest is below 6e-9.
  float poly = 1.0f / 5040.0f;
  poly = poly * r + 1.0f / 720.0f;
  poly = poly * r + 1.0f / 120.0f;
  poly = poly * r + 1.0f / 24.0f;
  poly = poly * r + 1.0f / 6.0f;
  poly = poly * r + 0.5f;
  poly = poly * (r * r) + r + 1.0f;
  const int32_t bits = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(shift);
  const float power = std::bit_cast<float>((bits + 127) << 23);
  return x < lowest ? 0.0f : poly * power;
}
LF_INLINE double fast_exp(double x) { return std::exp(x); }

/// erf(x) within 3e-7 in float: its series below 1/2, Abramowitz and Stegun 7.1.26 above.
LF_INLINE float fast_erf(float x) {
  const float a = std::fabs(x);
  const float t = 1.0f / (1.0f + 0.3275911f * a);
  float poly = 1.061405429f;
  poly = poly * t - 1.453152027f;
  poly = poly * t + 1.421413741f;
  poly = poly * t - 0.284496736f;
  poly = poly * t + 0.254829592f;
  const float tail = 1.0f - poly * t * fast_exp(-a * a);
  const float s = x * x;
  float series = -1.0f / 1320.0f;
  series = series * s + 1.0f / 216.0f;
  series = series * s - 1.0f / 42.0f;
  series = series * s + 1.0f / 10.0f;
  series = series * s - 1.0f / 3.0f;
  series = series * s + 1.0f;
  const float near = 1.12837917f * x * series;
  return a < 0.5f ? near : (x < 0.0f ? -tail : tail);
}
LF_INLINE double fast_erf(double x) { return std::erf(x); }

template <class T> LF_INLINE T sigmoid(T x) { return T(1) / (T(1) + fast_exp(-x)); }

} // namespace lf::rt
