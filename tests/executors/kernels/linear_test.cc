#include <algorithm>
#include <numeric>

#include "executors/kernels/linear_layer.h"

namespace lathe {
namespace {

class LinearTest : public ProductTest {};

TEST_P(LinearTest, EqualsTheExactSumForOddSizes) {
  uint32_t seed = 1;
  for (const int64_t k : {1, 2, 3, 4, 5, 15, 16, 31, 33, 64, 127, 576, 1021}) {
    for (const int64_t channels : {1, 15, 16, 17, 40, 64}) {
      for (const int64_t rows : {1, 2, 3, 5, 7}) {
        const Layer layer = random_layer(rows, channels, k, ++seed);
        ASSERT_EQ(run(kernels(), layer, channels), expected_output(layer))
            << rows << " rows, " << channels << " channels, k " << k;
      }
    }
  }
}

TEST_P(LinearTest, EveryNumberOfRowsGivesTheSameCodes) {
  for (int64_t rows = 1; rows <= 34; ++rows) {
    const Layer layer = random_layer(rows, 48, 100, static_cast<uint32_t>(rows));
    ASSERT_EQ(run(kernels(), layer, 48), expected_output(layer)) << rows << " rows";
  }
}

TEST_P(LinearTest, ChannelRangesCoverTheWhole) {
  const Layer layer = random_layer(4, 100, 96, 77);
  const std::vector<uint16_t> expected = expected_output(layer);
  for (const int64_t step : {16, 32, 48, 112}) EXPECT_EQ(run(kernels(), layer, step), expected);
}

TEST_P(LinearTest, WorksWithoutBias) {
  Layer layer = random_layer(2, 20, 50, 5);
  layer.bias.clear();
  EXPECT_EQ(run(kernels(), layer, 20), expected_output(layer));
}

TEST_P(LinearTest, LimitsToTheGivenRange) {
  Layer layer = random_layer(3, 32, 64, 9);
  layer.y_low = 100;
  layer.y_high = 255;
  layer.y_zero_point = 128;
  const std::vector<uint16_t> y = run(kernels(), layer, 32);
  EXPECT_EQ(y, expected_output(layer));
  EXPECT_EQ(*std::min_element(y.begin(), y.end()), 100);
  EXPECT_EQ(*std::max_element(y.begin(), y.end()), 255);
}

TEST_P(LinearTest, ExtremesDoNotOverflow) {
  for (const int zero_point : {0, 65535}) {
    for (const int x : {0, 65535}) {
      for (const int w : {-128, -127, 127}) {
        for (const int64_t k : {517, 4096}) {
          for (const int64_t rows : {1, 2, 6}) {
            Layer layer = random_layer(rows, 16, k, 3);
            std::fill(layer.x.begin(), layer.x.end(), static_cast<uint16_t>(x));
            std::fill(layer.weights.begin(), layer.weights.end(), static_cast<int8_t>(w));
            std::fill(layer.multiplier.begin(), layer.multiplier.end(),
                      32000.0 / (65535.0 * 128.0 * static_cast<double>(k)));
            layer.x_zero_point = zero_point;
            layer.y_zero_point = 32768;
            ASSERT_EQ(run(kernels(), layer, 16), expected_output(layer))
                << "x " << x << ", zero point " << zero_point << ", w " << w << ", k " << k;
          }
        }
      }
    }
  }
}

TEST_P(LinearTest, SumsPassThirtyOneBitsOfOneBytePlane) {
  // 255 * 128 * 131077 is more than 2^32.
  for (const int64_t rows : {1, 2, 6}) {
    Layer layer = random_layer(rows, 17, 131077, 3);
    std::fill(layer.x.begin(), layer.x.end(), uint16_t{65535});
    std::fill(layer.weights.begin(), layer.weights.end(), int8_t{-128});
    std::fill(layer.multiplier.begin(), layer.multiplier.end(), 5e-8);
    layer.x_zero_point = 3;
    layer.y_zero_point = 65000;
    ASSERT_EQ(run(kernels(), layer, 17), expected_output(layer));
  }
}

TEST_P(LinearTest, TakesActivationsOfEightBits) {
  uint32_t seed = 100;
  for (const int64_t k : {1, 5, 31, 64, 127, 576}) {
    for (const int64_t channels : {1, 17, 64, 100}) {
      for (const int64_t rows : {1, 2, 7, 13}) {
        const Layer layer = with_bytes(random_layer(rows, channels, k, ++seed));
        ASSERT_EQ(run(kernels(), layer, channels), expected_output(layer))
            << rows << " rows, " << channels << " channels, k " << k;
      }
    }
  }
}

TEST_P(LinearTest, RoundsHalfToEven) {
  // acc = w, multiplier 0.5: halves for every odd weight.
  Layer layer = random_layer(1, 16, 1, 1);
  layer.x = {1};
  layer.x_zero_point = 0;
  layer.y_zero_point = 1000;
  layer.bias.clear();
  std::iota(layer.weights.begin(), layer.weights.end(), int8_t{-8});
  std::fill(layer.multiplier.begin(), layer.multiplier.end(), 0.5);
  EXPECT_EQ(run(kernels(), layer, 16),
            (std::vector<uint16_t>{996, 996, 997, 998, 998, 998, 999, 1000, 1000, 1000, 1001, 1002,
                                   1002, 1002, 1003, 1004}));
}

TEST_P(LinearTest, ExtremeMultipliersSaturate) {
  Layer layer = random_layer(1, 16, 8, 2);
  std::fill(layer.multiplier.begin(), layer.multiplier.end(), 1e300);
  EXPECT_EQ(run(kernels(), layer, 16), expected_output(layer));
  std::fill(layer.multiplier.begin(), layer.multiplier.end(), 1e-300);
  EXPECT_EQ(run(kernels(), layer, 16),
            std::vector<uint16_t>(16, static_cast<uint16_t>(layer.y_zero_point)));
}

LATHE_ON_EVERY_PRODUCT(LinearTest);

}  // namespace
}  // namespace lathe
