#include "checkpoint/ggml_blocks.h"

namespace lathe::ggml {

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

}  // namespace lathe::ggml
