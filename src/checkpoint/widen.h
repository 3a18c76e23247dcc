#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "support/tensor.h"

namespace lathe {

/// Whether widen() knows the type: f32, f16 or bf16.
bool is_float_weight(DType dtype);

/// Widens elements of type f32, f16 or bf16 to float32, exactly. `in` holds as many elements as
/// `out`, little-endian, at any alignment.
void widen(DType dtype, const std::byte* in, std::span<float> out);

}  // namespace lathe
