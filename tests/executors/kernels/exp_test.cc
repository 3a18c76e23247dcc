#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// Distance from the true value in units in the last place of float32.
double ulps(float found, double expected) {
  const float nearest = static_cast<float>(expected);
  const double unit =
      static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) -
      nearest;
  return std::abs(found - expected) / unit;
}

TEST(ExpTest, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (int i = 0; i <= 1750000; ++i) {
    const float x = -87.0f + static_cast<float>(i) * 1e-4f;
    worst = std::max(worst, ulps(exp_f32(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 2.0);
}

TEST(ExpTest, IsExactWhereItMatters) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-87.01f), 0.0f);
  EXPECT_EQ(exp_f32(-255.0f), 0.0f);
  EXPECT_EQ(exp_f32(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_EQ(exp_f32(std::numeric_limits<float>::infinity()), exp_f32(88.0f));
}

TEST(ExpTest, SiluIsWithinThreeUnitsInTheLastPlace) {
  double worst = 0;
  for (int i = -800000; i <= 800000; ++i) {
    const float x = static_cast<float>(i) * 1e-4f;
    const double real = x;
    if (i == 0) continue;
    worst = std::max(worst, ulps(silu_f32(x), real / (1.0 + std::exp(-real))));
  }
  EXPECT_LT(worst, 3.0);
  EXPECT_EQ(silu_f32(0.0f), 0.0f);
  EXPECT_LT(std::abs(silu_f32(-1000.0f)), 1e-30f);
  EXPECT_EQ(silu_f32(1000.0f), 1000.0f);
}

TEST(ExpTest, TanhIsWithinThreeUnitsInTheLastPlace) {
  double worst = 0;
  for (int i = 1; i <= 200000; ++i) {
    const float x = static_cast<float>(i) * 1e-4f;
    worst = std::max(worst, ulps(tanh_f32(x), std::tanh(static_cast<double>(x))));
    ASSERT_EQ(tanh_f32(-x), -tanh_f32(x));
  }
  EXPECT_LT(worst, 3.0);
  EXPECT_LT(ulps(tanh_f32(1e-20f), 1e-20), 1.0);
  EXPECT_EQ(tanh_f32(0.0f), 0.0f);
  EXPECT_EQ(tanh_f32(1000.0f), 1.0f);
}

TEST(ExpTest, GeluIsWithinTheRoundingOfItsExponent) {
  for (int i = -80000; i <= 80000; ++i) {
    const float x = static_cast<float>(i) * 1e-4f;
    const double real = x;
    const double u = std::sqrt(2.0 / std::numbers::pi) * (real + 0.044715 * real * real * real);
    ASSERT_NEAR(gelu_tanh_f32(x), 0.5 * real * (1.0 + std::tanh(u)), 1e-6) << x;
  }
  EXPECT_EQ(gelu_tanh_f32(1000.0f), 1000.0f);
  EXPECT_LT(std::abs(gelu_tanh_f32(-1000.0f)), 1e-30f);
}

}  // namespace
}  // namespace lathe
