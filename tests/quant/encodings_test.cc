#include "quant/encodings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "quant/channel_codes.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Expected numbers are worked out by hand from the table in docs/numerics.md.

TEST(AffineEncoding, CoversTheRangeAndZero) {
  // (2 - -1) / 65535; zp = round(1 / s) = 21845 exactly.
  const Encoding both = affine_encoding(DType::u16, {-1.0f, 2.0f}, "x");
  EXPECT_EQ(both, (Encoding{DType::u16, {static_cast<float>(3.0 / 65535.0)}, 21845, -1}));
  // A range that lies on one side of zero is widened to hold it.
  EXPECT_EQ(affine_encoding(DType::u16, {3.0f, 6.5535f}, "x"),
            (Encoding{DType::u16, {static_cast<float>(double{6.5535f} / 65535.0)}, 0, -1}));
  EXPECT_EQ(affine_encoding(DType::u8, {-2.55f, -1.0f}, "x"),
            (Encoding{DType::u8, {static_cast<float>(double{2.55f} / 255.0)}, 255, -1}));
}

TEST(AffineEncoding, RoundsZeroPointTiesToEven) {
  // -lo / s = 1 * 255 / 2 = 127.5 and 3 * 255 / 6 = 127.5: to 128.
  EXPECT_EQ(affine_encoding(DType::u8, {-1.0f, 1.0f}, "x").zero_point, 128);
  // 5 * 255 / 510 = 2.5: to 2, where rounding away from zero would give 3.
  EXPECT_EQ(affine_encoding(DType::u8, {-5.0f, 505.0f}, "x").zero_point, 2);
}

TEST(AffineEncoding, HasASmallestScale) {
  EXPECT_EQ(affine_encoding(DType::u16, {0.0f, 0.0f}, "x"),
            (Encoding{DType::u16, {static_cast<float>(1e-4 / 65535.0)}, 0, -1}));
  EXPECT_EQ(affine_encoding(DType::u8, {-1e-6f, 1e-6f}, "x").scale,
            std::vector<float>{static_cast<float>(1e-4 / 255.0)});
}

TEST(AffineEncoding, RefusesWhatHasNoRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto message = [](const ValueRange& range) {
    try {
      affine_encoding(DType::u16, range, "layers.3.o_proj");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message({}), HasSubstr("layers.3.o_proj"));
  EXPECT_THAT(message({-1.0f, kInfinity}), HasSubstr("layers.3.o_proj"));
  EXPECT_THAT(message({std::nanf(""), 1.0f}), HasSubstr("layers.3.o_proj"));
}

TEST(SymmetricEncoding, IsCentredOn128) {
  EXPECT_EQ(symmetric_encoding(DType::u8, {-255.0f, 3.0f}, "k"),
            (Encoding{DType::u8, {2.0f}, 128, -1}));
  EXPECT_EQ(symmetric_encoding(DType::u8, {-3.0f, 127.5f}, "k"),
            (Encoding{DType::u8, {1.0f}, 128, -1}));
  EXPECT_EQ(symmetric_encoding(DType::u8, {0.0f, 0.0f}, "k").scale.at(0),
            static_cast<float>(1e-4 / 255.0));
  EXPECT_EQ(symmetric_encoding(DType::u16, {-1.0f, 32767.5f}, "x"),
            (Encoding{DType::u16, {1.0f}, 32768, -1}));
  EXPECT_EQ(symmetric_encoding(DType::u16, {0.0f, 0.0f}, "x").scale.at(0),
            static_cast<float>(1e-4 / 65535.0));
}

TEST(Codes, RoundToNearestTiesToEvenAndClamp) {
  const Encoding u8{DType::u8, {0.5f}, 128, -1};
  const std::vector<float> numbers{0.0f, 0.25f, 0.75f, -0.25f, -0.75f, 0.3f, 1e30f, -1e30f};
  std::vector<uint8_t> codes(numbers.size());
  to_codes(u8, numbers, codes.data());
  // In steps: 0, 0.5 -> 0, 1.5 -> 2, -0.5 -> 0, -1.5 -> -2, 0.6 -> 1, then the two ends.
  EXPECT_THAT(codes, ElementsAre(128, 128, 130, 128, 126, 129, 255, 0));

  const Encoding u16{DType::u16, {2.0f}, 3, -1};
  std::vector<uint16_t> wide(4);
  to_codes(u16, std::vector<float>{1.0f, 131063.0f, 131065.0f, -7.0f}, wide.data());
  // 0.5 -> 0; 65531.5 -> 65532; 65532.5 -> 65532; -3.5 -> -4 clamped to -3.
  EXPECT_THAT(wide, ElementsAre(3, 65535, 65535, 0));
}

TEST(BiasCodes, CountInStepsOfInputTimesWeight) {
  EXPECT_EQ(bias_code(3.0f, 0.5f, 0.25f), 24);
  EXPECT_EQ(bias_code(-0.0625f, 0.5f, 0.25f), 0);  // -0.5 steps, to even
  EXPECT_EQ(bias_encoding({DType::u16, {0.5f}, 7, -1}, {DType::i8, {0.25f, 4.0f}, 0, 0}),
            (Encoding{DType::i32, {0.125f, 2.0f}, 0, 0}));
}

TEST(BiasCodes, AlwaysFitBesideSmallWeights) {
  // A channel that was pruned to almost nothing keeps its bias: the scale is as large as that
  // needs.
  const float input_scale = 1e-6f;
  const float scale = channel_scale(1e-9, 127, bias_scale_floor(-40.0f, input_scale));
  EXPECT_NEAR(bias_code(-40.0f, input_scale, scale), -(1 << 30), 128);
  EXPECT_EQ(bias_scale_floor(0.0f, input_scale), 0.0);
}

}  // namespace
}  // namespace lathe
