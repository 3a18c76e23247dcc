#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/encoding.h"
#include "graph/quant_spec.h"
#include "quant/range.h"

namespace lathe {

// From ranges to encodings, and from numbers to codes: docs/numerics.md, "Encodings".
//
// Scales and zero points are computed in float64. The scale is then stored as float32, and that
// stored value is THE scale: codes are computed against it here, and every executor and every
// export dequantizes with it.

/// What 16-bit activations are encoded for: `percent` more than calibration saw, at both ends, for
/// tokens that its texts do not have and texts unlike them. A number beyond the range costs far
/// more than the part of a bit that this takes from all others (docs/accuracy.md).
ValueRange with_headroom(const ValueRange& seen, int percent);

/// Affine over `range` widened to hold zero, for DType::u16 and DType::u8:
/// s = max((hi - lo) / steps, 1e-4 / steps), zp = round(-lo / s). Throws Error naming `value` where
/// the range is empty or not finite.
Encoding affine_encoding(DType dtype, const ValueRange& range, std::string_view value);

/// The same on both sides of zero, for DType::u16 and DType::u8: s = max(abs) / (steps / 2), at
/// least 1e-4 / steps; zp = (steps + 1) / 2. Throws Error as affine_encoding does.
Encoding symmetric_encoding(DType dtype, const ValueRange& range, std::string_view value);

/// Affine or symmetric, as `spec` says.
Encoding activation_encoding(const QuantSpec& spec, const ValueRange& range,
                             std::string_view value);

/// The smallest scale of a weight channel at which `bias` still fits 32 bits (in steps of
/// s_x * s_w). 0 for a bias of 0.
double bias_scale_floor(float bias, float input_scale);

/// i32, one scale per channel: s_x * s_w[c]. The scales shown are rounded to float32; codes are
/// computed against the float64 product, which is what an accumulator counts in.
Encoding bias_encoding(const Encoding& input, const Encoding& weight);

/// codes[i] = clamp(round(numbers[i] / s) + zp), in float32, ties to even. Per-tensor encodings of
/// the type that the codes have.
void to_codes(const Encoding& encoding, std::span<const float> numbers, uint16_t* codes);
void to_codes(const Encoding& encoding, std::span<const float> numbers, uint8_t* codes);

/// round(bias / (s_x * s_w)) in float64. The scales must pass bias_scale_floor.
int32_t bias_code(float bias, float input_scale, float weight_scale);

}  // namespace lathe
