#pragma once

#include <bit>
#include <cstdint>

namespace lathe {

/// exp(x) within 2 ulp where the result is a normal float; exactly 0 below -87 (where exp leaves
/// the normal floats), capped at exp(88) above. No branches and no table, so loops vectorize.
///
/// exp(x) = 2^n * exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2, and the Taylor series of
/// exp(r), whose term after the last one here is below 2^-27.
inline float float_exp(float x) {
  constexpr float kLowest = -87.0f;
  constexpr float kHighest = 88.0f;
  // Adding 1.5 * 2^23 leaves the rounded number in the low bits of the sum.
  constexpr float kRound = 0x1.8p23f;
  // ln 2 in two parts; products of the first with |n| < 2^8 are exact.
  constexpr float kLn2High = 0x1.62e4p-1f;
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;

  // A NaN passes both comparisons and stays.
  float clamped = x < kLowest ? kLowest : x;
  clamped = clamped > kHighest ? kHighest : clamped;
  const float shifted = clamped * 0x1.715476p0f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const uint32_t power = (std::bit_cast<uint32_t>(shifted) << 23) + (uint32_t{127} << 23);
  const float result = series * std::bit_cast<float>(power);
  return x < kLowest ? 0.0f : result;
}

}  // namespace lathe
