#pragma once

#include "executors/cpu/kernels/kernels.h"

namespace lathe {
namespace {

/// All that the including source file has compiled, as one table.
constexpr Kernels make_table(Isa isa) {
  return Kernels{
      .isa = isa,
      .prepare_activation = prepare_activation,
      .linear = linear,
      .attention = attention,
      .rms_norm = rms_norm,
      .rope_half = rope_half,
      .add = add,
      .mul = mul,
      .mul_scalar = mul_scalar,
      .neg = neg,
      .silu = silu,
      .silu_mul = silu_mul,
      .requantize_u16_u16 = requantize<uint16_t, uint16_t>,
      .requantize_u16_u8 = requantize<uint16_t, uint8_t>,
      .requantize_u8_u16 = requantize<uint8_t, uint16_t>,
      .dequantize_u16 = dequantize_u16,
      .argmax = argmax,
  };
}

}  // namespace
}  // namespace lathe
