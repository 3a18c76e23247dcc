#include "quant/quantized_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "graph/packed_weights.h"
#include "quant/one_layer.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes_of(const Constant& constant) {
  return {constant.bytes.get(), constant.bytes.get() + constant.byte_count};
}

std::vector<float> floats_of(const Constant& constant, const Shape& shape) {
  std::vector<float> floats(static_cast<size_t>(elements(shape)));
  constant.floats->read(0, elements(shape), floats.data());
  return floats;
}

// Channels that are no multiple of 16 and a depth that is no multiple of 4 leave padding.
class WeightShapes : public testing::TestWithParam<Shape> {};

TEST_P(WeightShapes, AreQuantizedChannelByChannelAsTheFormulaSays) {
  const Shape& shape = GetParam();
  const auto weight = test::one_layer_weight("w", shape);
  ThreadPool pool(3);
  const QuantizedConstant result = quantize_weight(*weight, shape, {}, "w.i8", pool);

  std::vector<int8_t> codes(static_cast<size_t>(elements(shape)));
  unpack_weights(reinterpret_cast<const int8_t*>(result.constant->bytes.get()), shape[0], shape[1],
                 codes.data());
  const std::vector<float> floats = floats_of(*weight, shape);
  const auto k = static_cast<size_t>(shape[1]);
  for (size_t c = 0; c < static_cast<size_t>(shape[0]); ++c) {
    float max_abs = 0.0f;
    for (size_t i = 0; i < k; ++i) max_abs = std::max(max_abs, std::fabs(floats[c * k + i]));
    const auto scale = static_cast<float>(double{max_abs} / 127.0);
    ASSERT_EQ(result.encoding.scale[c], scale) << "channel " << c;
    for (size_t i = 0; i < k; ++i) {
      ASSERT_EQ(codes[c * k + i], std::nearbyint(floats[c * k + i] / scale)) << c << ", " << i;
    }
  }
}

TEST_P(WeightShapes, ArePackedAsOneMatrix) {
  const Shape& shape = GetParam();
  ThreadPool pool(2);
  const QuantizedConstant result =
      quantize_weight(*test::one_layer_weight("w", shape), shape, {}, "w.i8", pool);
  EXPECT_EQ(result.constant->name, "w.i8");
  EXPECT_EQ(result.constant->layout, Layout::packed);
  ASSERT_EQ(result.constant->byte_count,
            static_cast<int64_t>(packed_constant_bytes(shape[0], shape[1])));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(result.constant->bytes.get()) % 64, 0u);

  const auto* packed = reinterpret_cast<const int8_t*>(result.constant->bytes.get());
  std::vector<int8_t> codes(static_cast<size_t>(elements(shape)));
  unpack_weights(packed, shape[0], shape[1], codes.data());
  std::vector<int8_t> whole(packed_weights_bytes(shape[0], shape[1]));
  pack_weights(codes.data(), shape[0], shape[1], whole.data());
  EXPECT_EQ(std::memcmp(packed, whole.data(), whole.size()), 0);

  std::vector<int32_t> sums(static_cast<size_t>(shape[0]));
  sum_packed_weights(packed, shape[0], shape[1], sums.data());
  const int32_t* stored = packed_weight_sums(packed, shape[0], shape[1]);
  EXPECT_EQ(std::vector<int32_t>(stored, stored + shape[0]), sums);
}

INSTANTIATE_TEST_SUITE_P(Shapes, WeightShapes,
                         testing::Values(Shape{1, 1}, Shape{16, 4}, Shape{37, 5}, Shape{3, 70000},
                                         Shape{700, 130}));

TEST(QuantizedConstants, DoNotDependOnTheNumberOfThreads) {
  const Shape shape{300, 517};
  const auto weight = test::one_layer_weight("w", shape);
  ThreadPool one(1);
  const QuantizedConstant expected = quantize_weight(*weight, shape, {}, "w.i8", one);
  const ValueRange range = constant_range(*weight, shape, one);
  const Encoding u16{DType::u16, {3e-5f}, 32768, -1};
  const auto table = bytes_of(*quantize_activation(*weight, shape, u16, "w.u16", one).constant);
  for (const int threads : {2, 3, 7}) {
    ThreadPool pool(threads);
    const QuantizedConstant result = quantize_weight(*weight, shape, {}, "w.i8", pool);
    EXPECT_EQ(result.encoding, expected.encoding);
    EXPECT_EQ(bytes_of(*result.constant), bytes_of(*expected.constant));
    EXPECT_EQ(constant_range(*weight, shape, pool), range);
    EXPECT_EQ(bytes_of(*quantize_activation(*weight, shape, u16, "w.u16", pool).constant), table);
  }
}

TEST(QuantizedConstants, AreRefusedByNameWhereANumberIsNotFinite) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    const Shape shape{40, 33};
    std::vector<float> values(static_cast<size_t>(elements(shape)), 1.0f);
    values[1300] = bad;
    const auto constant = float_constant("layers.1.up_proj.weight", std::move(values));
    ThreadPool pool(2);
    const auto expect_refusal = [&](const auto& action) {
      try {
        action();
        FAIL() << "accepted";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("layers.1.up_proj.weight"));
      }
    };
    expect_refusal([&] { quantize_weight(*constant, shape, {}, "", pool); });
    expect_refusal([&] { constant_range(*constant, shape, pool); });
    expect_refusal(
        [&] { quantize_activation(*constant, shape, {DType::u16, {1.0f}, 0, -1}, "", pool); });
    expect_refusal([&] { read_all(*constant, shape); });
  }
}

TEST(QuantizedConstants, KeepABiasBesideAChannelOfZeros) {
  ThreadPool pool(1);
  const Encoding input{DType::u16, {1e-5f}, 0, -1};
  const auto weight = float_constant("w", {0.0f, 0.0f, 1.0f, -1.0f});
  const std::vector<float> bias{0.75f, 0.75f};
  const std::vector<double> floors{0.75 / (double{1e-5f} * 0x1p30),
                                   0.75 / (double{1e-5f} * 0x1p30)};
  const QuantizedConstant w = quantize_weight(*weight, {2, 2}, floors, "w.i8", pool);
  const QuantizedConstant b = quantize_bias(bias, input, w.encoding, "b.i32");
  const auto* codes = reinterpret_cast<const int32_t*>(b.constant->bytes.get());
  for (size_t c = 0; c < 2; ++c) {
    const double step = double{input.scale[0]} * double{w.encoding.scale[c]};
    EXPECT_NEAR(codes[c] * step, 0.75, step / 2) << "channel " << c;
  }
}

}  // namespace
}  // namespace lathe
