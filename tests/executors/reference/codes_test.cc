#include "executors/reference/codes.h"

#include <gmock/gmock.h>

#include <limits>
#include <vector>

#include "support/error.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;

constexpr CodeRange kU8{0, 255};
constexpr CodeRange kU16{0, 65535};

TEST(Codes, RealIsScaledDistanceFromZeroPoint) {
  EXPECT_EQ(dequantize(130, 0.5f, 128), 1.0f);
  EXPECT_EQ(dequantize(0, 255.0f / 65535.0f, 65535), -255.0f);
}

TEST(Codes, TiesRoundToEven) {
  EXPECT_EQ(quantize(0.5f, 1.0f, 10, kU8), 10);
  EXPECT_EQ(quantize(1.5f, 1.0f, 10, kU8), 12);
  EXPECT_EQ(quantize(-0.5f, 1.0f, 10, kU8), 10);
  EXPECT_EQ(quantize(-2.5f, 1.0f, 10, kU8), 8);
}

TEST(Codes, ValuesOutsideClampToTheEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(quantize(1e9f, 1.0f, 10, kU8), 255);
  EXPECT_EQ(quantize(-1e9f, 1.0f, 10, kU8), 0);
  EXPECT_EQ(quantize(kInfinity, 1e-3f, 32768, kU16), 65535);
  EXPECT_EQ(quantize(-kInfinity, 1e-3f, 32768, kU16), 0);
  EXPECT_EQ(quantize(std::numeric_limits<float>::quiet_NaN(), 1.0f, 10, kU8), 0);
}

TEST(Codes, EveryCodeSurvivesARoundTrip) {
  const float scale = 0.00024f;
  for (int32_t code = 0; code <= 65535; ++code) {
    ASSERT_EQ(quantize(dequantize(code, scale, 31000), scale, 31000, kU16), code);
  }
}

TEST(Codes, RescaleRoundsOnceInFloat64) {
  // 2^40 + 1 does not fit a float32; halved it is a tie.
  const int64_t accumulator = (int64_t{1} << 40) + 1;
  EXPECT_EQ(rescale(accumulator, 0x1p-30, 0, kU16), 1024);
  EXPECT_EQ(rescale(5, 0.5, 100, kU16), 102);
  EXPECT_EQ(rescale(7, 0.5, 100, kU16), 104);
  EXPECT_EQ(rescale(-5, 0.5, 1, kU16), 0);
  EXPECT_EQ(rescale(int64_t{1} << 52, 1.0, 0, kU16), 65535);
}

TEST(Codes, ChannelsHaveTheirOwnScales) {
  std::vector<int8_t> codes{1, -2, 3, -4, 5, -6};
  const Encoding encoding{DType::i8, {0.5f, 2.0f}, 0, 0};
  const TensorView view = dense_view(DType::i8, {2, 3}, codes.data());
  std::vector<float> reals(6);
  dequantize(view, encoding, reals.data());
  EXPECT_THAT(reals, ElementsAre(0.5f, -1.0f, 1.5f, -8.0f, 10.0f, -12.0f));

  std::vector<int8_t> back(6);
  quantize(reals.data(), encoding, dense_view(DType::i8, {2, 3}, back.data()));
  EXPECT_EQ(back, codes);
}

TEST(Codes, AxisMayBeTheLast) {
  std::vector<int8_t> codes{1, 1, 1, 2, 2, 2};
  std::vector<float> reals(6);
  dequantize(dense_view(DType::i8, {2, 3}, codes.data()), {DType::i8, {1.0f, 10.0f, 100.0f}, 0, 1},
             reals.data());
  EXPECT_THAT(reals, ElementsAre(1.0f, 10.0f, 100.0f, 2.0f, 20.0f, 200.0f));
}

TEST(Codes, FloatsAreNoCodes) {
  float number = 1.0f;
  const TensorView view = dense_view(DType::f32, {1}, &number);
  EXPECT_THROW(dequantize(view, {DType::f32, {1.0f}, 0, -1}, &number), Error);
}

}  // namespace
}  // namespace lathe
