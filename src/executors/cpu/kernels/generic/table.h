#pragma once

#include "executors/cpu/kernels/kernels.h"
#include "executors/cpu/kernels/tables.h"

namespace lathe {
namespace {

/// All that the including source file has compiled, as one table.
constexpr Kernels make_table(Isa isa) {
  return Kernels{
      .isa = isa,
      .prepare_activation = prepare_activation,
      .prepare_bytes = prepare_bytes,
      .linear = linear,
      .linear_int4 = linear_int4,
      .attention = attention,
      .matmul = matmul,
      .rms_norm = rms_norm,
      .rope_half = rope_half,
      .rope_split = rope_split,
      .softmax = softmax,
      .hadamard = hadamard,
      .add = add,
      .sub = sub,
      .mul = mul,
      .add_scalar = add_scalar,
      .mul_scalar = mul_scalar,
      .div_scalar = div_scalar,
      .neg = unary<negated_f32>,
      .sigmoid = unary<sigmoid_f32>,
      .silu = unary<silu_f32>,
      .tanh = unary<tanh_f32>,
      .gelu_tanh = unary<gelu_tanh_f32>,
      .silu_mul = gated<silu_f32>,
      .gelu_tanh_mul = gated<gelu_tanh_f32>,
      .requantize_u16_u16 = requantize<uint16_t, uint16_t>,
      .requantize_u16_u8 = requantize<uint16_t, uint8_t>,
      .requantize_u8_u16 = requantize<uint8_t, uint16_t>,
      .dequantize_u16 = dequantize_u16,
      .argmax = argmax,
  };
}

}  // namespace
}  // namespace lathe
