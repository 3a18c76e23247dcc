#include "graph/check_encoding.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "support/expect_error.h"

namespace lathe {
namespace {

using testing::expect_error;

Value weight(DType dtype, Shape shape, Encoding encoding) {
  Value value;
  value.name = "w";
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.encoding = std::move(encoding);
  value.constant = std::make_shared<const Constant>();
  return value;
}

void refuse(const Value& value, const std::string& part) {
  expect_error([&] { check_encoding(value); }, {"w: ", part});
}

TEST(CheckEncoding, AcceptsWhatTensorsCanHave) {
  check_encoding(weight(DType::u16, {2, 2}, {DType::u16, {0.5f}, 65535, -1}));
  check_encoding(weight(DType::i8, {2, 3}, {DType::i8, {0.5f, 1.0f}, 0, 0}));
  check_encoding(weight(DType::i16, {2, 3}, {DType::i16, {0.5f, 1.0f}, 0, 0}));
  check_encoding(weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, 0, 32}));
  check_encoding(weight(DType::i4, {1, 64, 1, 1}, {DType::i4, {0.5f}, 0, 0, 64}));
}

TEST(CheckEncoding, RefusesTypesScalesAndZeroPoints) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  refuse(weight(DType::u8, {2}, {DType::u16, {0.5f}, 0, -1}), "another type");
  refuse(weight(DType::u8, {2}, {DType::u8, {0.5f}, 256, -1}), "expected 0..255, found 256");
  refuse(weight(DType::i8, {2}, {DType::i8, {0.5f}, 0, 1}), "axis");
  refuse(weight(DType::i8, {2}, {DType::i8, {0.5f}, 0, 0}), "expected 2, found 1");
  for (const float scale : {0.0f, -1.0f, kNaN}) {
    refuse(weight(DType::u8, {2}, {DType::u8, {scale}, 0, -1}), "not a positive number");
  }
}

TEST(CheckEncoding, RefusesBlocksThatTheTensorCannotHave) {
  const std::string part = "blocks that the tensor cannot have";
  refuse(weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, 0, 64}), part);  // 96 = 1.5 * 64
  refuse(weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, 0, 24}), part);  // no such size
  refuse(weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, 0, -32}), part);
  refuse(weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, -1, 32}), part);  // one scale in all
  refuse(weight(DType::i8, {1, 96}, {DType::i8, {0.5f}, 0, 0, 32}), part);
  refuse(weight(DType::i4, {96}, {DType::i4, std::vector<float>(96, 1.0f), 0, 0, 32}), part);
  Value input = weight(DType::i4, {1, 96}, {DType::i4, {0.5f}, 0, 0, 32});
  input.constant = nullptr;
  refuse(input, part);
}

}  // namespace
}  // namespace lathe
