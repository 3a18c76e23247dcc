#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/tensor.h"

namespace lathe {

/// What the integers of a tensor mean: real = (code - zero_point) * scale. docs/numerics.md has the
/// table of encodings; src/quant makes them.
struct Encoding {
  DType dtype = DType::u16;
  std::vector<float> scale;  ///< one, or one per index along `axis`
  int32_t zero_point = 0;
  int32_t axis = -1;  ///< -1: per tensor

  bool per_channel() const { return axis >= 0; }
  bool operator==(const Encoding&) const = default;
};

/// The range of codes of an integer type: {0, 65535} for u16. Symmetric weights use -127..127 and
/// -7..7 of their containers.
struct CodeRange {
  int32_t low;
  int32_t high;
};
CodeRange code_range(DType dtype);

/// "u16 s=0.000244 zp=32768", "i8 per channel of axis 0"
std::string to_string(const Encoding& encoding);

}  // namespace lathe
