#include <algorithm>

#include "executors/kernels/linear_layer.h"

namespace lathe {
namespace {

class LinearInt4Test : public ProductTest {};

TEST_P(LinearInt4Test, EqualsTheExactSumForEveryBlock) {
  // The factors of 8 blocks share a line: less than one, one, two and a part.
  uint32_t seed = 1;
  for (const int64_t block : {4, 8, 12, 16, 32, 64, 96}) {
    for (const int64_t blocks : {3, 8, 19}) {
      for (const int64_t channels : {1, 16, 17, 40, 64}) {
        for (const int64_t rows : {1, 2, 7}) {
          const Layer layer = random_int4_layer(rows, channels, blocks * block, block, ++seed);
          ASSERT_EQ(run(kernels(), layer, channels), expected_output(layer))
              << rows << " rows, " << channels << " channels, " << blocks << " blocks of " << block;
        }
      }
    }
  }
}

TEST_P(LinearInt4Test, EqualsTheExactSumWithoutFactors) {
  uint32_t seed = 1;
  for (const int64_t k : {1, 4, 5, 8, 12, 13, 31, 64, 127, 576}) {
    for (const int64_t channels : {1, 16, 40}) {
      for (const int64_t rows : {1, 3, 6}) {
        const Layer layer = random_int4_layer(rows, channels, k, 0, ++seed);
        ASSERT_EQ(run(kernels(), layer, channels), expected_output(layer))
            << rows << " rows, " << channels << " channels, k " << k;
      }
    }
  }
}

TEST_P(LinearInt4Test, TakesActivationsOfEightBits) {
  uint32_t seed = 1;
  for (const int64_t block : {0, 16, 32}) {
    for (const int64_t rows : {1, 5}) {
      const Layer layer = with_bytes(random_int4_layer(rows, 50, 96, block, ++seed));
      ASSERT_EQ(run(kernels(), layer, 50), expected_output(layer)) << rows << ", block " << block;
    }
  }
}

TEST_P(LinearInt4Test, ChannelRangesCoverTheWhole) {
  for (const int64_t rows : {1, 4, 9}) {
    const Layer layer = random_int4_layer(rows, 100, 96, 32, 77);
    const std::vector<uint16_t> expected = expected_output(layer);
    for (const int64_t step : {16, 32, 48, 112}) EXPECT_EQ(run(kernels(), layer, step), expected);
  }
}

TEST_P(LinearInt4Test, ExtremesDoNotOverflow) {
  // 255 * 128 * 131072 is 2^32 and more, so a byte plane passes 31 bits, within a block or not.
  for (const int64_t block : {0, 32, 131072}) {
    for (const int64_t rows : {1, 2, 6}) {
      Layer layer = random_int4_layer(rows, 16, 131072, block, 3);
      std::fill(layer.x.begin(), layer.x.end(), uint16_t{65535});
      std::fill(layer.codes.begin(), layer.codes.end(), int8_t{-8});
      std::fill(layer.factors.begin(), layer.factors.end(), uint8_t{16});
      std::fill(layer.weights.begin(), layer.weights.end(),
                static_cast<int8_t>(block == 0 ? -8 : -128));
      std::fill(layer.multiplier.begin(), layer.multiplier.end(), 5e-8);
      layer.x_zero_point = 3;
      layer.y_zero_point = 65000;
      ASSERT_EQ(run(kernels(), layer, 16), expected_output(layer)) << rows << ", block " << block;
    }
  }
}

LATHE_ON_EVERY_PRODUCT(LinearInt4Test);

}  // namespace
}  // namespace lathe
