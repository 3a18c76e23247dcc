#include "support/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lathe {
namespace {

TEST(Bfloat16, WidensExactly) {
  EXPECT_EQ(bf16_to_f32(0x3F80), 1.0f);
  EXPECT_EQ(bf16_to_f32(0x7F7F), 0x1.FEp127f);  // 3.3895e38, beyond what float16 can hold
  EXPECT_EQ(bf16_to_f32(0x0001), 0x1p-133f);    // 9.18e-41, a subnormal
  EXPECT_TRUE(std::signbit(bf16_to_f32(0x8000)));
}

TEST(Bfloat16, EveryValueComesBackFromFloat32) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = bf16_to_f32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(value))));
    } else {
      ASSERT_EQ(f32_to_bf16(value), half);
    }
  }
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3F80);             // half way: to the even code
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-7f + 0x1p-8f), 0x3F82);   // half way: to the even code
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3F81);  // above half way
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

// IEEE 754: (-1)^s * 2^(e - 15) * (1 + m / 1024), or 2^-14 * m / 1024 where e = 0.
TEST(Float16, EveryValueFollowsTheFormula) {
  for (int bits = 0; bits <= 0xFFFF; ++bits) {
    const int exponent = (bits >> 10) & 31;
    const int mantissa = bits & 1023;
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    EXPECT_EQ(std::signbit(value), bits >= 0x8000);
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), mantissa != 0);
      EXPECT_EQ(std::isinf(value), mantissa == 0);
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(std::abs(static_cast<double>(value)), expected);
  }
}

}  // namespace
}  // namespace lathe
