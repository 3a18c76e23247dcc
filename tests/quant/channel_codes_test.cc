#include "quant/channel_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lathe {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;

// Expected numbers are worked out by hand from the table in docs/numerics.md.

ChannelBounds bounds_of(const WeightFormat& format, const std::vector<float>& weights,
                        double clip = 1.0) {
  return {magnitudes(format, weights, "w"), clip};
}

TEST(ChannelCodes, OfEightBitsHaveOneScale) {
  const std::vector<float> weights{254.0f, -254.0f, 1.0f, 3.0f, -5.0f, 0.9f};
  std::vector<int8_t> codes(6);
  const float scale =
      channel_codes({DType::i8}, weights, bounds_of({DType::i8}, weights), codes.data(), nullptr);
  EXPECT_EQ(scale, 2.0f);
  // 0.5 -> 0, 1.5 -> 2, -2.5 -> -2: ties go to even.
  EXPECT_THAT(codes, ElementsAre(127, -127, 0, 2, -2, 0));
}

TEST(ChannelCodes, OfFourBitsRunFromMinus7To7) {
  const std::vector<float> weights{14.0f, -14.0f, 1.0f, 3.0f, -5.0f};
  std::vector<int8_t> codes(5);
  const float scale =
      channel_codes({DType::i4}, weights, bounds_of({DType::i4}, weights), codes.data(), nullptr);
  EXPECT_EQ(scale, 2.0f);
  EXPECT_THAT(codes, ElementsAre(7, -7, 0, 2, -2));
}

TEST(ChannelCodes, OfSixteenBitsRunFromMinus32767To32767) {
  const std::vector<float> weights{32767.0f, -32767.0f, 1.4f, -2.5f};
  std::vector<int16_t> codes(4);
  const float scale =
      channel_codes({DType::i16}, weights, bounds_of({DType::i16}, weights), codes.data());
  EXPECT_EQ(scale, 1.0f);
  EXPECT_THAT(codes, ElementsAre(32767, -32767, 1, -2));
}

TEST(ChannelCodes, OfBlocksAreTakenAgainstTheRoundedScaleOfTheirBlock) {
  // s_b = max / 7 = {16, 1, 0.4, 5.6}; s = 16 / 16 = 1; k = {16, 1, 0 -> 1, 6}.
  const WeightFormat format{DType::i4, 16};
  std::vector<float> weights(64, 0.0f);
  weights[0] = 112.0f;
  weights[1] = -24.0f;  // 1.5 steps of 16
  weights[16] = -7.0f;
  weights[17] = 2.5f;
  weights[32] = 2.8f;   // 7 steps of 0.4, but the smallest step is 1
  weights[48] = 39.2f;  // 7 steps of 5.6, 6.53 of 6
  weights[49] = -16.0f;
  std::vector<int8_t> codes(64);
  std::vector<uint8_t> factors(4);
  const float scale =
      channel_codes(format, weights, bounds_of(format, weights), codes.data(), factors.data());
  EXPECT_EQ(scale, 1.0f);
  EXPECT_THAT(factors, ElementsAre(16, 1, 1, 6));
  std::vector<int8_t> expected(64, 0);
  expected[0] = 7;
  expected[1] = -2;
  expected[16] = -7;
  expected[17] = 2;
  expected[32] = 3;
  expected[48] = 7;
  expected[49] = -3;
  EXPECT_THAT(codes, ElementsAreArray(expected));
}

TEST(ChannelCodes, ClipWhatIsBeyondTheFraction) {
  const std::vector<float> weights{254.0f, -100.0f, 1.0f};
  std::vector<int8_t> codes(3);
  const float scale = channel_codes({DType::i8}, weights, bounds_of({DType::i8}, weights, 0.5),
                                    codes.data(), nullptr);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_THAT(codes, ElementsAre(127, -100, 1));

  const WeightFormat blocks{DType::i4, 16};
  std::vector<float> wide(32, 0.0f);
  wide[0] = 112.0f;
  wide[16] = 56.0f;
  std::vector<int8_t> block_codes(32);
  std::vector<uint8_t> factors(2);
  EXPECT_EQ(channel_codes(blocks, wide, bounds_of(blocks, wide, 0.25), block_codes.data(),
                          factors.data()),
            0.25f);
  EXPECT_THAT(factors, ElementsAre(16, 8));
  EXPECT_EQ(block_codes[0], 7);
  EXPECT_EQ(block_codes[16], 7);
}

TEST(ChannelCodes, OfZerosAreZeros) {
  EXPECT_EQ(channel_scale(0.0, 127, 0.0), 1.0f / 127.0f);
  EXPECT_GT(channel_scale(1e-45, 127, 0.0), 0.0f);
  const WeightFormat format{DType::i4, 16};
  const std::vector<float> weights(32, 0.0f);
  std::vector<int8_t> codes(32, 5);
  std::vector<uint8_t> factors(2);
  const float scale =
      channel_codes(format, weights, bounds_of(format, weights), codes.data(), factors.data());
  EXPECT_GT(scale, 0.0f);
  EXPECT_THAT(factors, Each(1));
  EXPECT_THAT(codes, Each(0));
}

TEST(ChannelCodes, AFloorMakesTheScaleLarger) {
  const WeightFormat format{DType::i4, 16};
  std::vector<float> weights(32, 0.0f);
  weights[0] = 112.0f;
  weights[16] = 14.0f;
  ChannelBounds bounds = bounds_of(format, weights);
  bounds.floor = 4.0;
  std::vector<int8_t> codes(32);
  std::vector<uint8_t> factors(2);
  EXPECT_EQ(channel_codes(format, weights, bounds, codes.data(), factors.data()), 4.0f);
  EXPECT_THAT(factors, ElementsAre(4, 1));  // block scales 16 and 2
  EXPECT_EQ(codes[0], 7);
  EXPECT_EQ(codes[16], 4);  // 14 / 4 = 3.5
}

}  // namespace
}  // namespace lathe
