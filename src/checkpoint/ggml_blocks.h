#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "support/half.h"

namespace lathe {

/// Widening of GGML's block types to float32, in the arithmetic and the order of GGML's own code
/// (ggml-quants.c). `in` holds whole blocks, at any alignment; `out` has room for all their values.
namespace ggml {

inline constexpr int64_t kSmall = 32;   // values of a block of the simple types
inline constexpr int64_t kSuper = 256;  // values of a super-block of the K types

inline uint8_t u8(const std::byte* at) { return static_cast<uint8_t>(*at); }
inline int8_t i8(const std::byte* at) { return static_cast<int8_t>(*at); }

inline float half(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return f16_to_f32(bits);
}

inline uint32_t u32(const std::byte* at) {
  uint32_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

void q4_0(const std::byte* in, std::span<float> out);
void q4_1(const std::byte* in, std::span<float> out);
void q5_0(const std::byte* in, std::span<float> out);
void q5_1(const std::byte* in, std::span<float> out);
void q8_0(const std::byte* in, std::span<float> out);

void q2_k(const std::byte* in, std::span<float> out);
void q3_k(const std::byte* in, std::span<float> out);
void q4_k(const std::byte* in, std::span<float> out);
void q5_k(const std::byte* in, std::span<float> out);
void q6_k(const std::byte* in, std::span<float> out);

void iq4_nl(const std::byte* in, std::span<float> out);
void iq4_xs(const std::byte* in, std::span<float> out);
void mxfp4(const std::byte* in, std::span<float> out);

}  // namespace ggml
}  // namespace lathe
