#include "decode/logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lathe {
namespace {

template <typename T>
LogitsRow row_of(const std::vector<T>& values, ValueFormat format) {
  return {format, reinterpret_cast<const std::byte*>(values.data()), std::ssize(values)};
}

TEST(Logits, ArgmaxTakesTheLowestIdOfTheLargest) {
  const std::vector<uint16_t> codes{3, 65535, 7, 65535};
  EXPECT_EQ(argmax(row_of(codes, {DType::u16, 0.1f, 9})), 1);
  const std::vector<uint8_t> bytes{0, 0, 0};
  EXPECT_EQ(argmax(row_of(bytes, {DType::u8, 0.1f, 9})), 0);
  const std::vector<float> reals{-3.0f, -2.5f, -2.5f};
  EXPECT_EQ(argmax(row_of(reals, {})), 1);
}

TEST(Logits, ArgmaxPassesOverNotANumber) {
  EXPECT_EQ(argmax(row_of(std::vector<float>{NAN, 1.0f, NAN, 2.0f, NAN}, {})), 3);
  EXPECT_EQ(argmax(row_of(std::vector<float>{NAN, NAN}, {})), 0);
  EXPECT_EQ(argmax(row_of(std::vector<float>{-INFINITY, INFINITY}, {})), 1);
}

TEST(Logits, DequantizeGivesRealValues) {
  std::vector<float> real(3);
  const std::vector<uint16_t> codes{0, 32768, 65535};
  dequantize(row_of(codes, {DType::u16, 0.5f, 32768}), real);
  EXPECT_THAT(real, testing::ElementsAre(-16384.0f, 0.0f, 16383.5f));
  const std::vector<uint8_t> bytes{0, 128, 255};
  dequantize(row_of(bytes, {DType::u8, 2.0f, 128}), real);
  EXPECT_THAT(real, testing::ElementsAre(-256.0f, 0.0f, 254.0f));
  const std::vector<float> same{1.5f, -2.0f, 0.0f};
  dequantize(row_of(same, {}), real);
  EXPECT_EQ(real, same);
}

}  // namespace
}  // namespace lathe
