#include "executors/float/float_exp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

/// Distance to the exact result in units of the float32 next to it.
double error_in_ulp(float x) {
  const double exact = std::exp(static_cast<double>(x));
  const auto nearest = static_cast<float>(exact);
  const double ulp = std::nextafter(nearest, std::numeric_limits<float>::infinity()) - nearest;
  return std::abs(float_exp(x) - exact) / ulp;
}

TEST(FloatExp, IsWithinTwoUlp) {
  double worst = 0.0;
  for (float x = -87.0f; x <= 88.0f; x += 0.000731f) worst = std::max(worst, error_in_ulp(x));
  EXPECT_LE(worst, 2.0);
}

TEST(FloatExp, EndsAreExact) {
  EXPECT_EQ(float_exp(0.0f), 1.0f);
  EXPECT_EQ(float_exp(-87.01f), 0.0f);
  EXPECT_EQ(float_exp(-255.0f), 0.0f);
  EXPECT_EQ(float_exp(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(float_exp(1000.0f), float_exp(88.0f));
  EXPECT_TRUE(std::isnan(float_exp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lathe
