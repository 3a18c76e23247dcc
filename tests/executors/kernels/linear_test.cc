#include <algorithm>
#include <numeric>

#include "executors/kernels/kernel_test.h"
#include "graph/packed_weights.h"

namespace lathe {
namespace {

/// A layer with its input, before packing.
struct Layer {
  int64_t rows;
  int64_t channels;
  int64_t k;
  std::vector<uint16_t> x;         // [rows, k]
  std::vector<int8_t> weights;     // [channels, k]
  std::vector<int32_t> bias;       // [channels], or empty
  std::vector<double> multiplier;  // [channels]
  int x_zero_point;
  int y_zero_point;
  int y_low = 0;
  int y_high = 65535;
};

/// Multipliers are such that outputs spread over more than the range of codes.
Layer random_layer(int64_t rows, int64_t channels, int64_t k, uint32_t seed) {
  Layer layer;
  layer.rows = rows;
  layer.channels = channels;
  layer.k = k;
  layer.x = random_u16(static_cast<size_t>(rows * k), seed);
  layer.weights = random_codes<int8_t>(static_cast<size_t>(channels * k), seed + 1, -127, 127);
  layer.bias =
      random_codes<int32_t>(static_cast<size_t>(channels), seed + 2, -2000000000, 2000000000);
  std::mt19937 generator(seed + 3);
  std::uniform_real_distribution<double> distribution(0.002, 0.03);
  for (int64_t n = 0; n < channels; ++n) {
    layer.multiplier.push_back(distribution(generator) / std::sqrt(static_cast<double>(k)));
  }
  layer.x_zero_point = static_cast<int>(seed * 7919 % 65536);
  layer.y_zero_point = static_cast<int>(seed * 104729 % 65536);
  return layer;
}

std::vector<uint16_t> expected_output(const Layer& layer) {
  std::vector<uint16_t> y;
  for (int64_t m = 0; m < layer.rows; ++m) {
    for (int64_t n = 0; n < layer.channels; ++n) {
      int64_t sum = layer.bias.empty() ? 0 : layer.bias[static_cast<size_t>(n)];
      for (int64_t i = 0; i < layer.k; ++i) {
        sum += static_cast<int64_t>(layer.x[static_cast<size_t>(m * layer.k + i)] -
                                    layer.x_zero_point) *
               layer.weights[static_cast<size_t>(n * layer.k + i)];
      }
      y.push_back(
          static_cast<uint16_t>(reference_rescale(sum, layer.multiplier[static_cast<size_t>(n)],
                                                  layer.y_zero_point, layer.y_low, layer.y_high)));
    }
  }
  return y;
}

/// Runs the layer in channel ranges of `step`, into rows that are 3 elements longer than they need
/// be, and checks that those 3 stay untouched.
std::vector<uint16_t> run(const Kernels& kernels, const Layer& layer, int64_t step) {
  Aligned<int8_t> packed(packed_weights_bytes(layer.channels, layer.k));
  pack_weights(layer.weights.data(), layer.channels, layer.k, packed.data());
  std::vector<int32_t> sums(static_cast<size_t>(layer.channels));
  sum_packed_weights(packed.data(), layer.channels, layer.k, sums.data());

  LinearArgs args;
  args.prepared_stride = prepared_bytes(layer.k);
  Aligned<uint8_t> prepared(static_cast<size_t>(args.prepared_stride * layer.rows));
  for (int64_t m = 0; m < layer.rows; ++m) {
    kernels.prepare_activation(layer.x.data() + m * layer.k, layer.k,
                               prepared.data() + m * args.prepared_stride);
  }
  args.prepared = prepared.data();
  args.rows = layer.rows;
  args.k = layer.k;
  args.weights = packed.data();
  args.weight_sums = sums.data();
  args.bias = layer.bias.empty() ? nullptr : layer.bias.data();
  args.multiplier = layer.multiplier.data();
  args.channels = layer.channels;
  args.x_zero_point = layer.x_zero_point;
  args.y_zero_point = layer.y_zero_point;
  args.y_low = layer.y_low;
  args.y_high = layer.y_high;
  args.y_stride = layer.channels + 3;
  std::vector<uint16_t> y(static_cast<size_t>(layer.rows * args.y_stride), 4711);
  args.y = y.data();
  for (int64_t n = 0; n < layer.channels; n += step) {
    kernels.linear(args, n, std::min(n + step, layer.channels));
  }

  std::vector<uint16_t> dense;
  for (int64_t m = 0; m < layer.rows; ++m) {
    for (int64_t n = 0; n < args.y_stride; ++n) {
      const uint16_t code = y[static_cast<size_t>(m * args.y_stride + n)];
      if (n < layer.channels) {
        dense.push_back(code);
      } else {
        EXPECT_EQ(code, 4711) << "written beyond the last channel of row " << m;
      }
    }
  }
  return dense;
}

class LinearTest : public KernelTest {};

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
  for (int64_t rows = 1; rows <= 14; ++rows) {
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
          for (const int64_t rows : {1, 2}) {
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
  for (const int64_t rows : {1, 2}) {
    Layer layer = random_layer(rows, 17, 131077, 3);
    std::fill(layer.x.begin(), layer.x.end(), uint16_t{65535});
    std::fill(layer.weights.begin(), layer.weights.end(), int8_t{-128});
    std::fill(layer.multiplier.begin(), layer.multiplier.end(), 5e-8);
    layer.x_zero_point = 3;
    layer.y_zero_point = 65000;
    ASSERT_EQ(run(kernels(), layer, 17), expected_output(layer));
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

LATHE_ON_EVERY_ISA(LinearTest);

}  // namespace
}  // namespace lathe
