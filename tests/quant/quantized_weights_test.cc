#include "quant/quantized_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/packed_int4.h"
#include "graph/packed_weights.h"
#include "graph/stored_bytes.h"
#include "quant/encodings.h"
#include "quant/one_layer.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

constexpr WeightFormat kInt8{DType::i8};
constexpr WeightFormat kInt4{DType::i4};
constexpr WeightFormat kInt16{DType::i16};

std::vector<std::byte> bytes_of(const Constant& constant) {
  return {constant.bytes.get(), constant.bytes.get() + constant.byte_count};
}

std::vector<float> floats_of(const Constant& constant, const Shape& shape) {
  std::vector<float> floats(static_cast<size_t>(elements(shape)));
  constant.floats->read(0, elements(shape), floats.data());
  return floats;
}

/// A quantized weight as the value of a graph.
Value value_of(const QuantizedConstant& weight, const Shape& shape) {
  Value value;
  value.name = "w";
  value.dtype = weight.encoding.dtype;
  value.shape = shape;
  value.encoding = weight.encoding;
  value.constant = weight.constant;
  return value;
}

/// What the codes of a weight [channels, k] count for: q, or k q where they lie in blocks.
std::vector<int32_t> effective_codes(const QuantizedConstant& weight, const Shape& shape) {
  const int64_t channels = shape[0];
  const int64_t k = shape[1];
  const std::byte* bytes = weight.constant->bytes.get();
  if (weight.encoding.dtype == DType::i16) {
    const auto* rows = reinterpret_cast<const int16_t*>(bytes);
    return {rows, rows + channels * k};
  }
  std::vector<int8_t> codes(static_cast<size_t>(channels * k));
  if (weight.encoding.dtype == DType::i8) {
    unpack_weights(reinterpret_cast<const int8_t*>(bytes), channels, k, codes.data());
    return {codes.begin(), codes.end()};
  }
  const Int4Matrix matrix = int4_matrix(value_of(weight, shape));
  for (int64_t c = 0; c < channels; c += 16) {
    unpack_int4_group(bytes + static_cast<size_t>(c / 16) * int4_group_bytes(matrix),
                      std::min<int64_t>(16, channels - c), matrix, codes.data() + c * k);
  }
  return {codes.begin(), codes.end()};
}

struct Case {
  Shape shape;
  WeightFormat format;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << to_string(one.shape) << " " << to_string(one.format);
}

class QuantizedWeights : public ::testing::TestWithParam<Case> {
 protected:
  QuantizedConstant quantize(int threads = 3) const {
    ThreadPool pool(threads);
    return quantize_weight(*weight_, GetParam().shape, GetParam().format, {}, "w.q", pool);
  }

  std::shared_ptr<const Constant> weight_ = test::one_layer_weight("w", GetParam().shape);
};

/// max(abs) / steps of a stretch of weights, in float64.
double scale_of(const float* weights, int64_t count, double steps) {
  float largest = 0.0f;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(weights[i]));
  return double{largest} / steps;
}

// The table of docs/numerics.md, written down a second time and as plainly as it goes.
TEST_P(QuantizedWeights, AreWhatTheFormulaSays) {
  const auto& [shape, format] = GetParam();
  const QuantizedConstant result = quantize();
  const std::vector<int32_t> codes = effective_codes(result, shape);
  const std::vector<float> floats = floats_of(*weight_, shape);
  const int64_t k = shape[1];
  const int steps = format.dtype == DType::i8 ? 127 : format.dtype == DType::i4 ? 7 : 32767;
  const int64_t block = format.block == 0 ? k : format.block;
  for (int64_t c = 0; c < shape[0]; ++c) {
    const float* weights = floats.data() + c * k;
    std::vector<double> block_scales;
    for (int64_t b = 0; b < k; b += block) {
      block_scales.push_back(scale_of(weights + b, block, steps));
    }
    const double largest = *std::max_element(block_scales.begin(), block_scales.end());
    const float scale = result.encoding.scale[static_cast<size_t>(c)];
    ASSERT_FLOAT_EQ(scale, static_cast<float>(format.block == 0 ? largest : largest / 16.0));
    for (int64_t i = 0; i < k; ++i) {
      const double block_scale = block_scales[static_cast<size_t>(i / block)];
      const double factor =
          format.block == 0 ? 1.0
                            : std::clamp(std::nearbyint(block_scale / double{scale}), 1.0, 16.0);
      const float step = static_cast<float>(factor) * scale;
      const double code = std::clamp<double>(std::nearbyint(weights[i] / step), -steps, steps);
      ASSERT_EQ(codes[static_cast<size_t>(c * k + i)], code * factor) << c << ", " << i;
    }
  }
}

TEST_P(QuantizedWeights, AreStoredAsAConstantOfTheirFormat) {
  const auto& [shape, format] = GetParam();
  const QuantizedConstant result = quantize();
  EXPECT_EQ(result.constant->name, "w.q");
  EXPECT_EQ(result.constant->layout, format.dtype == DType::i16 ? Layout::rows : Layout::packed);
  EXPECT_EQ(result.constant->byte_count, stored_bytes(value_of(result, shape)));
  EXPECT_EQ(result.encoding.dtype, format.dtype);
  EXPECT_EQ(result.encoding.block, format.block);
  EXPECT_EQ(result.encoding.axis, 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(result.constant->bytes.get()) % 64, 0u);
}

TEST_P(QuantizedWeights, CarryTheSumsOfTheirChannels) {
  const auto& [shape, format] = GetParam();
  if (format.dtype == DType::i16) return;  // kernels read none
  const QuantizedConstant result = quantize();
  const std::vector<int32_t> codes = effective_codes(result, shape);
  const int32_t* sums =
      format.dtype == DType::i4
          ? int4_sums(static_cast<const std::byte*>(result.constant->bytes.get()),
                      int4_matrix(value_of(result, shape)))
          : packed_weight_sums(reinterpret_cast<const int8_t*>(result.constant->bytes.get()),
                               shape[0], shape[1]);
  for (int64_t c = 0; c < shape[0]; ++c) {
    int32_t sum = 0;
    for (int64_t i = 0; i < shape[1]; ++i) sum += codes[static_cast<size_t>(c * shape[1] + i)];
    ASSERT_EQ(sums[c], sum) << "channel " << c;
  }
}

TEST_P(QuantizedWeights, DoNotDependOnTheNumberOfThreads) {
  const QuantizedConstant expected = quantize(1);
  for (const int threads : {2, 7}) {
    const QuantizedConstant result = quantize(threads);
    EXPECT_EQ(result.encoding, expected.encoding);
    EXPECT_EQ(bytes_of(*result.constant), bytes_of(*expected.constant));
  }
}

TEST_P(QuantizedWeights, AreTheSameForALinearAndAConvolution) {
  const auto& [shape, format] = GetParam();
  ThreadPool pool(2);
  const QuantizedConstant linear = quantize();
  const QuantizedConstant conv =
      quantize_weight(*weight_, {shape[0], shape[1], 1, 1}, format, {}, "w.q", pool);
  EXPECT_EQ(conv.encoding, linear.encoding);
  EXPECT_EQ(bytes_of(*conv.constant), bytes_of(*linear.constant));
}

// Channels that fill no group of 16, depths that fill no line, several blocks of channels.
INSTANTIATE_TEST_SUITE_P(
    Formats, QuantizedWeights,
    ::testing::Values(Case{{1, 1}, kInt8}, Case{{16, 4}, kInt8}, Case{{37, 5}, kInt8},
                      Case{{3, 70000}, kInt8}, Case{{700, 130}, kInt8}, Case{{1, 1}, kInt4},
                      Case{{37, 13}, kInt4}, Case{{700, 130}, kInt4},
                      Case{{1, 16}, {DType::i4, 16}}, Case{{37, 96}, {DType::i4, 32}},
                      Case{{530, 192}, {DType::i4, 64}}, Case{{3, 70400}, {DType::i4, 16}},
                      Case{{37, 5}, kInt16}, Case{{700, 130}, kInt16}));

TEST(QuantizeWeight, RefusesNumbersThatAreNotFiniteByName) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    const Shape shape{40, 32};
    std::vector<float> values(static_cast<size_t>(elements(shape)), 1.0f);
    values[1200] = bad;
    const auto weight = float_constant("layers.1.up_proj.weight", std::move(values));
    ThreadPool pool(2);
    for (const WeightFormat& format : {kInt8, kInt4, WeightFormat{DType::i4, 32}, kInt16}) {
      testing::expect_error([&] { quantize_weight(*weight, shape, format, {}, "", pool); },
                            {"layers.1.up_proj.weight", "NaN or infinite"});
    }
  }
}

TEST(QuantizeWeight, RefusesBlocksThatDoNotDivideByName) {
  ThreadPool pool(1);
  const auto weight = float_constant("down_proj.weight", std::vector<float>(2 * 172));
  testing::expect_error([&] { quantize_weight(*weight, {2, 172}, {DType::i4, 32}, {}, "", pool); },
                        {"down_proj.weight", "a multiple of 32", "found 172"});
}

TEST(QuantizeWeight, KeepsABiasBesideAChannelOfZeros) {
  ThreadPool pool(1);
  const Encoding input{DType::u16, {1e-5f}, 0, -1};
  std::vector<float> values(2 * 16, 0.0f);
  values[16] = 1.0f;
  const auto weight = float_constant("w", std::move(values));
  const std::vector<float> bias{0.75f, 0.75f};
  const double floor = 0.75 / (double{1e-5f} * 0x1p30);
  for (const WeightFormat& format : {kInt8, WeightFormat{DType::i4, 16}, kInt16}) {
    const QuantizedConstant w =
        quantize_weight(*weight, {2, 16}, format, {floor, floor}, "w.q", pool);
    const QuantizedConstant b = quantize_bias(bias, input, w.encoding, "b.i32");
    const auto* codes = reinterpret_cast<const int32_t*>(b.constant->bytes.get());
    for (size_t c = 0; c < 2; ++c) {
      const double step = double{input.scale[0]} * double{w.encoding.scale[c]};
      EXPECT_NEAR(codes[c] * step, 0.75, step / 2) << "channel " << c;
    }
  }
}

TEST(QuantizeWeight, TakesAClipForEachChannel) {
  ThreadPool pool(1);
  const auto weight = float_constant("w", {127.0f, 1.0f, 127.0f, 1.0f});
  const std::vector<float> clips{1.0f, 0.5f};
  const QuantizedConstant w = quantize_weight(*weight, {2, 2}, kInt8, {}, "w.q", pool, clips);
  EXPECT_THAT(w.encoding.scale, ::testing::ElementsAre(1.0f, 0.5f));
  EXPECT_THAT(effective_codes(w, {2, 2}), ::testing::ElementsAre(127, 1, 127, 2));
}

}  // namespace
}  // namespace lathe
