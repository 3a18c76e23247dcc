#include "executors/reference/codes.h"

#include <string>

#include "support/error.h"

namespace lathe {
namespace {

/// Calls body(T{}) with the C++ type of the codes.
template <typename Body>
void with_code_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::u16:
      return body(uint16_t{});
    case DType::u8:
      return body(uint8_t{});
    case DType::i8:
      return body(int8_t{});
    default:
      fail({.what = "codes of this type have no real values",
            .expected = "u16, u8 or i8",
            .found = std::string(name_of(dtype))});
  }
}

/// Calls body(begin, end, scale) for every run of elements that share one scale.
template <typename Body>
void for_each_scale(const Shape& shape, const Encoding& encoding, const Body& body) {
  const int64_t count = elements(shape);
  if (!encoding.per_channel()) {
    body(int64_t{0}, count, encoding.scale.at(0));
    return;
  }
  const auto axis = static_cast<size_t>(encoding.axis);
  const int64_t channels = shape.at(axis);
  const int64_t run = dense_strides(shape)[axis];
  int64_t channel = 0;
  for (int64_t begin = 0; begin < count; begin += run) {
    body(begin, begin + run, encoding.scale.at(static_cast<size_t>(channel)));
    if (++channel == channels) channel = 0;
  }
}

}  // namespace

void dequantize(const TensorView& codes, const Encoding& encoding, float* out) {
  with_code_type(codes.dtype, [&](auto zero) {
    const auto* from = codes.as<decltype(zero)>();
    for_each_scale(codes.shape, encoding, [&](int64_t begin, int64_t end, float scale) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = dequantize(from[i], scale, encoding.zero_point);
      }
    });
  });
}

void quantize(const float* reals, const Encoding& encoding, const TensorView& codes) {
  const CodeRange range = code_range(codes.dtype);
  with_code_type(codes.dtype, [&](auto zero) {
    using Code = decltype(zero);
    auto* to = codes.as<Code>();
    for_each_scale(codes.shape, encoding, [&](int64_t begin, int64_t end, float scale) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = static_cast<Code>(quantize(reals[i], scale, encoding.zero_point, range));
      }
    });
  });
}

}  // namespace lathe
