#include "quant/quantized_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "quant/one_layer.h"
#include "support/error.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::vector<std::byte> bytes_of(const Constant& constant) {
  return {constant.bytes.get(), constant.bytes.get() + constant.byte_count};
}

TEST(QuantizedConstants, DoNotDependOnTheNumberOfThreads) {
  const Shape shape{300, 517};
  const auto weight = test::one_layer_weight("w", shape);
  ThreadPool one(1);
  const ValueRange range = constant_range(*weight, shape, one);
  const Encoding u16{DType::u16, {3e-5f}, 32768, -1};
  const auto table = bytes_of(*quantize_activation(*weight, shape, u16, "w.u16", one).constant);
  for (const int threads : {2, 3, 7}) {
    ThreadPool pool(threads);
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
    expect_refusal([&] { constant_range(*constant, shape, pool); });
    expect_refusal(
        [&] { quantize_activation(*constant, shape, {DType::u16, {1.0f}, 0, -1}, "", pool); });
    expect_refusal([&] { read_all(*constant, shape); });
  }
}

}  // namespace
}  // namespace lathe
