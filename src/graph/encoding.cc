#include "graph/encoding.h"

#include <fmt/format.h>

#include "support/error.h"

namespace lathe {

CodeRange code_range(DType dtype) {
  switch (dtype) {
    case DType::u16:
      return {0, 65535};
    case DType::i16:
      return {-32767, 32767};
    case DType::u8:
      return {0, 255};
    case DType::i8:
      return {-127, 127};
    case DType::i4:
      return {-7, 7};
    case DType::i32:
      return {INT32_MIN, INT32_MAX};
    default:
      fail({.what = "an element type that holds no codes", .found = std::string(name_of(dtype))});
  }
}

std::string to_string(const Encoding& encoding) {
  if (encoding.per_channel()) {
    std::string text =
        fmt::format("{} per channel of axis {}", name_of(encoding.dtype), encoding.axis);
    if (encoding.block > 0) text += fmt::format(" in blocks of {}", encoding.block);
    return text;
  }
  return fmt::format("{} s={} zp={}", name_of(encoding.dtype), encoding.scale.at(0),
                     encoding.zero_point);
}

}  // namespace lathe
