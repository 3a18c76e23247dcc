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
  /// i4 weights per channel only: so many numbers along dimension 1 share a whole factor from 1 to
  /// 16, stored with the codes; real = code * factor * scale. 0: there are no such factors.
  int32_t block = 0;

  bool per_channel() const { return axis >= 0; }
  bool operator==(const Encoding&) const = default;
};

/// The range of codes of an integer type: {0, 65535} for u16. Symmetric weights leave out the
/// lowest number of their type: -127..127, -7..7.
struct CodeRange {
  int32_t low;
  int32_t high;
};
CodeRange code_range(DType dtype);

/// "u16 s=0.000244 zp=32768", "i4 per channel of axis 0 in blocks of 32"
std::string to_string(const Encoding& encoding);

}  // namespace lathe
