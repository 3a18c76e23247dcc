#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/tensor.h"

namespace lathe {

/// How the scale and zero point of a value will be found (docs/numerics.md).
enum class Scheme : uint8_t {
  affine,     ///< over the range that calibration sees
  symmetric,  ///< the same on both sides of zero: what a cache holds
  unit,       ///< the fixed encoding of numbers in [0, 1]
  mask,       ///< the fixed encoding of attention masks
  rotary      ///< cos and sin: [-1, 1], or what their table reaches beyond that
};

/// What a float value becomes when the graph is quantized.
struct QuantSpec {
  DType dtype = DType::u16;
  Scheme scheme = Scheme::affine;
  bool operator==(const QuantSpec&) const = default;
};

/// "u16", "u8:symmetric"
std::string to_string(const QuantSpec& spec);
/// The inverse. Throws Error naming `where`.
QuantSpec quant_spec_from(std::string_view text, std::string_view where);

}  // namespace lathe
