#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/encoding.h"
#include "support/tensor.h"

namespace lathe {

/// real = (code - zero_point) * scale, in float32 (docs/numerics.md).
inline float dequantize(int32_t code, float scale, int32_t zero_point) {
  return static_cast<float>(code - zero_point) * scale;
}

/// code = round(real / scale) + zero_point, ties to even, clamped to `range`; NaN gives the lowest
/// code. For codes of up to 16 bits: every intermediate number is then exact in float32 or clamped.
inline int32_t quantize(float real, float scale, int32_t zero_point, CodeRange range) {
  const float code = std::rint(real / scale) + static_cast<float>(zero_point);
  return static_cast<int32_t>(
      std::min(std::max(static_cast<float>(range.low), code), static_cast<float>(range.high)));
}

/// The code that an exact accumulator becomes: round(accumulator * multiplier) + zero_point in
/// float64, ties to even, clamped to `range`.
inline int32_t rescale(int64_t accumulator, double multiplier, int32_t zero_point,
                       CodeRange range) {
  const double code = std::rint(static_cast<double>(accumulator) * multiplier) + zero_point;
  return static_cast<int32_t>(
      std::min(std::max(static_cast<double>(range.low), code), static_cast<double>(range.high)));
}

/// Writes the real values of a dense view of u16, u8 or i8 codes to out[elements].
void dequantize(const TensorView& codes, const Encoding& encoding, float* out);

/// Fills a dense view of u16, u8 or i8 with the codes of reals[elements].
void quantize(const float* reals, const Encoding& encoding, const TensorView& codes);

}  // namespace lathe
