#include <utility>

#include "checkpoint/ggml_blocks.h"

namespace lathe::ggml {
namespace {

/// The 6-bit scale and minimum of sub-block `j` (0..7) of Q4_K and Q5_K out of their 12 bytes: the
/// first four of each lie in bytes 0..3 and 4..7; the last four have their low four bits in bytes
/// 8..11 and their high two bits on top of the first eight bytes.
std::pair<int, int> scale_and_minimum(const std::byte* packed, int j) {
  if (j < 4) return {u8(packed + j) & 63, u8(packed + j + 4) & 63};
  return {(u8(packed + j + 4) & 15) | (u8(packed + j - 4) >> 6) << 4,
          (u8(packed + j + 4) >> 4) | (u8(packed + j) >> 6) << 4};
}

}  // namespace

// Q2_K: 16 bytes of scales (low nibble) and minima (high nibble), one for 16 values, 64 bytes of
// codes, f16 scale, f16 scale of the minima. Q2_K and Q3_K have their two-bit codes alike: in each
// half of the super-block, value 32 k + i (k = 0..3) is in byte i, bits 2 k and 2 k + 1.

void q2_k(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 84) {
    const float d = half(in + 80);
    const float d_min = half(in + 82);
    for (int sub = 0; sub < 16; ++sub) {
      const float d1 = d * static_cast<float>(u8(in + sub) & 15);
      const float m1 = d_min * static_cast<float>(u8(in + sub) >> 4);
      const std::byte* codes = in + 16 + 32 * (sub / 8) + 16 * (sub % 2);
      const int shift = 2 * (sub % 8 / 2);
      for (int i = 0; i < 16; ++i) {
        y[16 * sub + i] = d1 * static_cast<float>((u8(codes + i) >> shift) & 3) - m1;
      }
    }
  }
}

// Q3_K: 32 bytes of third bits, 64 bytes of codes, 12 bytes of 6-bit scales, f16 scale. Bit k of
// byte i has the third bit of value 32 k + i. Scale j: the low four bits in byte j % 8, the low
// nibble for the first eight; the high two in byte 8 + j % 4, bits 2 (j / 4) and up.
void q3_k(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 110) {
    const float d = half(in + 108);
    const std::byte* packed = in + 96;
    for (int sub = 0; sub < 16; ++sub) {
      const int scale = ((u8(packed + sub % 8) >> (4 * (sub / 8))) & 15) |
                        ((u8(packed + 8 + sub % 4) >> (2 * (sub / 4))) & 3) << 4;
      const float d1 = d * static_cast<float>(scale - 32);
      const std::byte* codes = in + 32 + 32 * (sub / 8) + 16 * (sub % 2);
      const std::byte* third = in + 16 * (sub % 2);
      const int shift = 2 * (sub % 8 / 2);
      for (int i = 0; i < 16; ++i) {
        const int code = ((u8(codes + i) >> shift) & 3) | ((u8(third + i) >> (sub / 2)) & 1) << 2;
        y[16 * sub + i] = d1 * static_cast<float>(code - 4);
      }
    }
  }
}

// Q4_K, Q5_K: f16 scale, f16 scale of the minima, 12 bytes of 6-bit scales and minima, codes. Byte
// i of each run of 32 bytes holds value i of a sub-block in its low and of the next one in its high
// nibble.

void q4_k(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 144) {
    const float d = half(in);
    const float d_min = half(in + 2);
    for (int sub = 0; sub < 8; ++sub) {
      const auto [scale, minimum] = scale_and_minimum(in + 4, sub);
      const float d1 = d * static_cast<float>(scale);
      const float m1 = d_min * static_cast<float>(minimum);
      const std::byte* codes = in + 16 + 32 * (sub / 2);
      const int shift = 4 * (sub % 2);
      for (int i = 0; i < 32; ++i) {
        y[32 * sub + i] = d1 * static_cast<float>((u8(codes + i) >> shift) & 15) - m1;
      }
    }
  }
}

void q5_k(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 176) {
    const float d = half(in);
    const float d_min = half(in + 2);
    const std::byte* fifth = in + 16;  // bit `sub` of byte i belongs to value i of the sub-block
    for (int sub = 0; sub < 8; ++sub) {
      const auto [scale, minimum] = scale_and_minimum(in + 4, sub);
      const float d1 = d * static_cast<float>(scale);
      const float m1 = d_min * static_cast<float>(minimum);
      const std::byte* codes = in + 48 + 32 * (sub / 2);
      const int shift = 4 * (sub % 2);
      for (int i = 0; i < 32; ++i) {
        const int code = ((u8(codes + i) >> shift) & 15) | ((u8(fifth + i) >> sub) & 1) << 4;
        y[32 * sub + i] = d1 * static_cast<float>(code) - m1;
      }
    }
  }
}

// Q6_K: 128 bytes of low four bits, 64 bytes of high two bits, 16 signed scales (one for 16
// values), f16 scale. Each half of the super-block: value 32 k + i (k = 0..3) has its low bits in
// byte i + 32 (k % 2), nibble k / 2, and its high bits in byte i, bits 2 k and 2 k + 1.
void q6_k(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 210) {
    const float d = half(in + 208);
    for (int part = 0; part < 2; ++part) {
      const std::byte* low = in + 64 * part;
      const std::byte* high = in + 128 + 32 * part;
      const std::byte* scales = in + 192 + 8 * part;
      for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < 32; ++i) {
          const int code = ((u8(low + i + 32 * (k % 2)) >> (4 * (k / 2))) & 15) |
                           ((u8(high + i) >> (2 * k)) & 3) << 4;
          const float scale = d * static_cast<float>(i8(scales + 2 * k + i / 16));
          y[128 * part + 32 * k + i] = scale * static_cast<float>(code - 32);
        }
      }
    }
  }
}

}  // namespace lathe::ggml
