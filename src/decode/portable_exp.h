#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace lathe {

/// exp(x) for x <= 0, within 1e-15 relative; below -700 it stays at exp(-700). It is made of
/// additions and multiplications only, so that a seed gives the same text on every machine: the C
/// library's exp may differ in the last bit between processors. No branches, so loops vectorize.
///
/// exp(x) = 2^n * exp(r), n = round(x / ln 2), r = x - n * ln 2, and exp(r) by its Taylor series,
/// whose 14th term is below 1e-17 for |r| <= ln 2 / 2.
inline double portable_exp(double x) {
  // Adding 1.5 * 2^52 leaves the rounded number in the low bits of the sum.
  constexpr double kRound = 0x1.8p52;
  constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
  // ln 2 in two parts; the first has trailing zeros, so that its product with n is exact.
  constexpr double kLn2High = 0x1.62e42fee00000p-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kInverseFactorials[] = {1.0 / 6227020800,
                                           1.0 / 479001600,
                                           1.0 / 39916800,
                                           1.0 / 3628800,
                                           1.0 / 362880,
                                           1.0 / 40320,
                                           1.0 / 5040,
                                           1.0 / 720,
                                           1.0 / 120,
                                           1.0 / 24,
                                           1.0 / 6,
                                           1.0 / 2,
                                           1.0,
                                           1.0};  // 1/13! to 1/0!

  x = std::max(x, -700.0);
  const double shifted = x * kInverseLn2 + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 0.0;
  for (const double coefficient : kInverseFactorials) sum = sum * r + coefficient;
  const uint64_t exponent = std::bit_cast<uint64_t>(shifted) + 1023;
  return sum * std::bit_cast<double>(exponent << 52);
}

}  // namespace lathe
