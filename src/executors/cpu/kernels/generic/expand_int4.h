#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

// 4-bit weights as 8-bit ones, exactly: code * factor lies in -128..127.

/// Channels that are expanded at a time: as many as one tile of linear() takes.
constexpr int64_t kExpandedChannels = 32;

constexpr int64_t kInt4Line = 64;      ///< bytes: 16 channels by 8 columns
constexpr int64_t kInt4LineDepth = 8;  ///< columns

/// The factors of 16 channels in one block, as many times as a line of 8-bit weights has columns.
inline void read_factors(const uint8_t* nibbles, int8_t* factors) {
  for (int64_t c = 0; c < 16; ++c) {
    const int32_t nibble = c % 2 == 0 ? nibbles[c / 2] & 15 : nibbles[c / 2] >> 4;
    for (int64_t j = 0; j < 4; ++j) factors[c * 4 + j] = static_cast<int8_t>(nibble + 1);
  }
}

/// out[64] = codes in the low (or high) nibbles of a line, times their factors.
template <bool kHigh>
inline void expand_half_line(const uint8_t* line, const int8_t* factors, int8_t* out) {
  for (int64_t i = 0; i < kInt4Line; ++i) {
    const auto shifted = static_cast<int8_t>(kHigh ? line[i] : line[i] << 4);
    out[i] = static_cast<int8_t>((shifted >> 4) * factors[i]);
  }
}

/// Group `group` (16 channels) to packed 8-bit weights, [ceil(k / 4)][16][4].
inline void expand_int4_group(const Int4Weights& weights, int64_t group, int64_t k,
                              int8_t* packed) {
  const uint8_t* source = weights.groups + group * weights.group_bytes;
  alignas(64) int8_t factors[kInt4Line];
  for (int8_t& factor : factors) factor = 1;
  const auto enter = [&](int64_t column) {
    if (weights.block == 0 || column % weights.block != 0) return;
    read_factors(source + weights.factors + column / weights.block * 8, factors);
  };
  for (int64_t i = 0; i < k; i += kInt4LineDepth) {
    const uint8_t* line = source + i * (kInt4Line / kInt4LineDepth);
    enter(i);
    expand_half_line<false>(line, factors, packed + i * 16);
    if (i + 4 >= k) break;
    enter(i + 4);
    expand_half_line<true>(line, factors, packed + (i + 4) * 16);
  }
}

}  // namespace
}  // namespace lathe
