#include <array>
#include <bit>

#include "checkpoint/ggml_blocks.h"

// Types whose four-bit codes are indices into a table of values that do not lie evenly. Byte j of
// 16 holds value j in its low and value j + 16 in its high nibble.

namespace lathe::ggml {
namespace {

using Table = std::array<float, 16>;

constexpr Table kNonLinear{-127, -104, -83, -65, -49, -35, -22, -10,
                           1,    13,   25,  38,  53,  69,  89,  113};

/// Twice the values of the E2M1 format (OCP Microscaling Formats 1.0), bit 3 being the sign.
constexpr Table kE2M1{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void look_up(const std::byte* codes, const Table& table, float scale, float* y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = scale * table[u8(codes + j) & 15];
    y[j + 16] = scale * table[u8(codes + j) >> 4];
  }
}

/// 2^(exponent - 128): half of what the E8M0 format means, for the doubled values of kE2M1. The two
/// smallest are subnormal numbers.
float half_of_e8m0(uint8_t exponent) {
  const uint32_t bits =
      exponent < 2 ? uint32_t{0x00200000} << exponent : static_cast<uint32_t>(exponent - 1) << 23;
  return std::bit_cast<float>(bits);
}

}  // namespace

// f16 scale, 16 bytes of codes.
void iq4_nl(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 18) {
    look_up(in + 2, kNonLinear, half(in), y);
  }
}

// f16 scale, 16 bits with the high two bits of the 6-bit scales of eight sub-blocks, 4 bytes with
// their low four bits, 128 bytes of codes.
void iq4_xs(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSuper, in += 136) {
    const float d = half(in);
    for (int sub = 0; sub < 8; ++sub) {
      const int low = (u8(in + 4 + sub / 2) >> (4 * (sub % 2))) & 15;
      const int high = (u8(in + 2 + sub / 4) >> (2 * (sub % 4))) & 3;
      const float scale = d * static_cast<float>((low | high << 4) - 32);
      look_up(in + 8 + 16 * sub, kNonLinear, scale, y + 32 * sub);
    }
  }
}

// One exponent, 16 bytes of codes.
void mxfp4(const std::byte* in, std::span<float> out) {
  for (float* y = out.data(); y != out.data() + out.size(); y += kSmall, in += 17) {
    look_up(in + 1, kE2M1, half_of_e8m0(u8(in)), y);
  }
}

}  // namespace lathe::ggml
