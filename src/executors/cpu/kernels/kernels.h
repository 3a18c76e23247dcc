#pragma once

#include <cstddef>
#include <cstdint>

#include "executors/cpu/kernels/arguments.h"
#include "executors/cpu/kernels/isa.h"

namespace lathe {

/// The integer kernels of one instruction set. Each gives bit for bit what every other set gives.
/// Elementwise kernels may write over an input of the same element type (y == x).
struct Kernels {
  Isa isa;

  /// x [k] -> the bytes that linear() of the same instruction set reads. `prepared` holds
  /// prepared_bytes(k) and is 64-byte aligned.
  void (*prepare_activation)(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept;
  /// The same from codes of 8 bits.
  void (*prepare_bytes)(const uint8_t* x, int64_t k, uint8_t* prepared) noexcept;
  /// Output channels [begin, end); begin is a multiple of 16, end too or the number of channels.
  void (*linear)(const LinearArgs& args, int64_t begin, int64_t end) noexcept;
  /// The same with 4-bit weights.
  void (*linear_int4)(const LinearArgs& args, int64_t begin, int64_t end) noexcept;

  void (*attention)(const AttentionArgs& args) noexcept;
  void (*matmul)(const MatmulArgs& args) noexcept;

  /// One row: gamma[i] * (x[i] * (1 / sqrt(mean(x^2) + epsilon))). x, gamma, y [k].
  void (*rms_norm)(const uint16_t* x, const float* gamma, uint16_t* y, int64_t k, float epsilon,
                   Affine from, Affine to) noexcept;
  void (*rope_half)(const RopeArgs& args) noexcept;
  void (*rope_split)(const SplitRopeArgs& args) noexcept;
  /// One row: exponentials of x minus their largest, over their sum. y has the fixed encoding of
  /// numbers in [0, 1], s = 1/65536 and zero point 0. scratch [k].
  void (*softmax)(const uint16_t* x, uint16_t* y, int64_t k, Affine from, float* scratch) noexcept;
  /// One row of k, a power of two: x times the Hadamard matrix, over sqrt(k), every sum and
  /// difference rounded to float32. scratch [k].
  void (*hadamard)(const uint16_t* x, uint16_t* y, int64_t k, Affine from, Affine to,
                   float* scratch) noexcept;

  void (*add)(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
              const BinaryEncodings& encodings) noexcept;
  void (*sub)(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
              const BinaryEncodings& encodings) noexcept;
  void (*mul)(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
              const BinaryEncodings& encodings) noexcept;
  void (*add_scalar)(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                     Affine to) noexcept;
  void (*mul_scalar)(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                     Affine to) noexcept;
  void (*div_scalar)(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                     Affine to) noexcept;
  void (*neg)(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept;
  void (*sigmoid)(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept;
  void (*silu)(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept;
  void (*tanh)(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept;
  /// gelu as the hyperbolic tangent approximates it.
  void (*gelu_tanh)(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept;
  void (*silu_mul)(const uint16_t* gate, const uint16_t* up, uint16_t* y, int64_t count,
                   const GatedEncodings& encodings) noexcept;
  void (*gelu_tanh_mul)(const uint16_t* gate, const uint16_t* up, uint16_t* y, int64_t count,
                        const GatedEncodings& encodings) noexcept;

  void (*requantize_u16_u16)(const uint16_t* x, uint16_t* y, int64_t count, Affine from,
                             Affine to) noexcept;
  void (*requantize_u16_u8)(const uint16_t* x, uint8_t* y, int64_t count, Affine from,
                            Affine to) noexcept;
  void (*requantize_u8_u16)(const uint8_t* x, uint16_t* y, int64_t count, Affine from,
                            Affine to) noexcept;
  void (*dequantize_u16)(const uint16_t* x, float* y, int64_t count, Affine from) noexcept;

  /// Index of the largest code, the first of equals; count is at least 1.
  int64_t (*argmax)(const uint16_t* x, int64_t count) noexcept;
};

/// Bytes of one prepared row of k activations, a multiple of 64.
int64_t prepared_bytes(int64_t k);

/// Scratch memory that one linear_int4() call needs, a multiple of 64.
int64_t int4_scratch_bytes(int64_t k);

/// Scratch memory that one attention() call needs.
size_t attention_scratch_bytes(int64_t head_dim, int64_t heads, int64_t rows, int64_t columns);

/// Numbers that one matmul() call needs as scratch memory.
int64_t matmul_scratch_numbers(const MatmulArgs& args);

/// Finds the columns that some row of mask [rows, stride] does not mask out (code not 0), as
/// ascending disjoint ranges. Gaps too short to be worth a range are closed, and everything after
/// `capacity` (at least 1) ranges joins the last. Returns how many ranges it wrote.
int64_t active_columns(const uint16_t* mask, int64_t rows, int64_t stride, int64_t columns,
                       ColumnRange* ranges, int64_t capacity);

/// The fastest kernels of this processor, or those that the environment variable LATHE_ISA names.
/// Throws Error when it names none, or one this processor has not.
const Kernels& select_kernels();

/// The kernels of one instruction set; it must be in available_isas().
const Kernels& kernels_for(Isa isa);

}  // namespace lathe
