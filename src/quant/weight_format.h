#pragma once

#include <cstdint>
#include <string>

#include "support/tensor.h"

namespace lathe {

/// How the weight of a product is stored (docs/numerics.md).
struct WeightFormat {
  DType dtype = DType::i8;  ///< i8, i4 or i16; symmetric, one scale per output channel
  /// i4: so many input features share a factor of that scale, 16, 32 or 64. 0: there are none.
  int32_t block = 0;

  bool operator==(const WeightFormat&) const = default;
};

/// "i8 per channel", "i4 in blocks of 32"
std::string to_string(const WeightFormat& format);

/// As part of a constant's name: "i8", "i4", "i4b32".
std::string form_of(const WeightFormat& format);

}  // namespace lathe
