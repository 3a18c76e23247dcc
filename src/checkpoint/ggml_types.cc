#include "checkpoint/ggml_types.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "checkpoint/widen.h"
#include "support/half.h"

namespace lathe {
namespace {

constexpr int64_t kSmall = 32;   // values of a block of the simple types
constexpr int64_t kSuper = 256;  // values of a super-block of the K types

uint8_t u8(const std::byte* at) { return static_cast<uint8_t>(*at); }
int8_t i8(const std::byte* at) { return static_cast<int8_t>(*at); }

float half(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return f16_to_f32(bits);
}

uint32_t u32(const std::byte* at) {
  uint32_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

template <DType dtype>
void plain(const std::byte* in, std::span<float> out) {
  widen(dtype, in, out);
}

// The simple types: f16 scale (and, in the _1 types, f16 minimum), then codes. Four-bit codes: byte
// j holds value j in its low and value j + 16 in its high nibble. Five-bit types keep the fifth
// bits of all values in one word before them.

void q4_0(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 18) {
    const float d = half(in);
    for (int j = 0; j < 16; ++j) {
      const int code = u8(in + 2 + j);
      y[j] = static_cast<float>((code & 15) - 8) * d;
      y[j + 16] = static_cast<float>((code >> 4) - 8) * d;
    }
  }
}

void q4_1(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 20) {
    const float d = half(in);
    const float m = half(in + 2);
    for (int j = 0; j < 16; ++j) {
      const int code = u8(in + 4 + j);
      y[j] = static_cast<float>(code & 15) * d + m;
      y[j + 16] = static_cast<float>(code >> 4) * d + m;
    }
  }
}

void q5_0(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 22) {
    const float d = half(in);
    const uint32_t fifth = u32(in + 2);
    for (int j = 0; j < 16; ++j) {
      const int code = u8(in + 6 + j);
      const int low = (code & 15) | static_cast<int>((fifth >> j) & 1) << 4;
      const int high = (code >> 4) | static_cast<int>((fifth >> (j + 16)) & 1) << 4;
      y[j] = static_cast<float>(low - 16) * d;
      y[j + 16] = static_cast<float>(high - 16) * d;
    }
  }
}

void q5_1(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 24) {
    const float d = half(in);
    const float m = half(in + 2);
    const uint32_t fifth = u32(in + 4);
    for (int j = 0; j < 16; ++j) {
      const int code = u8(in + 8 + j);
      const int low = (code & 15) | static_cast<int>((fifth >> j) & 1) << 4;
      const int high = (code >> 4) | static_cast<int>((fifth >> (j + 16)) & 1) << 4;
      y[j] = static_cast<float>(low) * d + m;
      y[j + 16] = static_cast<float>(high) * d + m;
    }
  }
}

void q8_0(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 34) {
    const float d = half(in);
    for (int j = 0; j < kSmall; ++j) y[j] = static_cast<float>(i8(in + 2 + j)) * d;
  }
}

/// The 6-bit scale and minimum of sub-block `j` (0..7) of Q4_K and Q5_K out of their 12 bytes: the
/// first four of each lie in bytes 0..3 and 4..7; the last four have their low four bits in bytes
/// 8..11 and their high two bits on top of the first eight bytes.
std::pair<int, int> scale_and_minimum(const std::byte* packed, int j) {
  if (j < 4) return {u8(packed + j) & 63, u8(packed + j + 4) & 63};
  return {(u8(packed + j + 4) & 15) | (u8(packed + j - 4) >> 6) << 4,
          (u8(packed + j + 4) >> 4) | (u8(packed + j) >> 6) << 4};
}

// K types: f16 scale, f16 scale of the minima, 12 bytes of 6-bit scales and minima, codes. Byte i
// of each run of 32 bytes holds value i of a sub-block in its low and of the next one in its high
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

constexpr std::array<GgmlType, 11> kTypes{{{0, "F32", 1, 4, plain<DType::f32>},
                                           {1, "F16", 1, 2, plain<DType::f16>},
                                           {2, "Q4_0", kSmall, 18, q4_0},
                                           {3, "Q4_1", kSmall, 20, q4_1},
                                           {6, "Q5_0", kSmall, 22, q5_0},
                                           {7, "Q5_1", kSmall, 24, q5_1},
                                           {8, "Q8_0", kSmall, 34, q8_0},
                                           {12, "Q4_K", kSuper, 144, q4_k},
                                           {13, "Q5_K", kSuper, 176, q5_k},
                                           {14, "Q6_K", kSuper, 210, q6_k},
                                           {30, "BF16", 1, 2, plain<DType::bf16>}}};

// Types that other programs read; an empty name is a number that is no longer used.
constexpr std::array<std::string_view, 40> kNames{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

}  // namespace

const GgmlType* find_ggml_type(uint32_t id) {
  for (const GgmlType& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::string ggml_type_name(uint32_t id) {
  if (id < kNames.size() && !kNames[id].empty()) return std::string(kNames[id]);
  return "type " + std::to_string(id);
}

}  // namespace lathe
