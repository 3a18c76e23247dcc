#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

// 4-bit weights as 8-bit ones, exactly: code * factor lies in -128..127.

/// Channels that are expanded at a time: as many as one tile of linear() takes.
constexpr int64_t kExpandedChannels = 32;

constexpr int64_t kInt4Line = 64;        ///< bytes: 16 channels by 8 columns
constexpr int64_t kInt4LineDepth = 8;    ///< columns
constexpr int64_t kInt4FactorBytes = 8;  ///< of one block
/// How far ahead of its use a line is fetched from memory, in bytes.
constexpr int64_t kInt4Prefetch = 8192;

/// The lines of one group of 16 channels, in the order in which they lie.
class Int4Lines {
 public:
  explicit Int4Lines(const uint8_t* group) : next_(group) {}

  /// The next 64 bytes of codes.
  const uint8_t* codes() { return take(); }

  /// The nibbles of the next block's factors, 8 bytes. Asked for before the codes of the block: a
  /// line of factors stands before the codes of the eight blocks that it is of.
  const uint8_t* factors() {
    if (blocks_left_ == 0) {
      factors_ = take();
      blocks_left_ = kInt4Line / kInt4FactorBytes;
    }
    --blocks_left_;
    const uint8_t* nibbles = factors_;
    factors_ += kInt4FactorBytes;
    return nibbles;
  }

 private:
  /// Fetched into the second-level cache: more such fetches can be under way than into the first.
  const uint8_t* take() {
    const uint8_t* line = next_;
    __builtin_prefetch(line + kInt4Prefetch, 0, 2);
    next_ += kInt4Line;
    return line;
  }

  const uint8_t* next_;
  const uint8_t* factors_ = nullptr;
  int64_t blocks_left_ = 0;
};

/// The 8 factors less one in every 32 bits of a block's nibbles, for two 16-bit lanes each: those
/// of a channel by four columns of bytes.
inline void read_factors(const uint8_t* nibbles, uint16_t* factors) {
  uint64_t all = 0;
  __builtin_memcpy(&all, nibbles, sizeof(all));
  for (int lane = 0; lane < 32; ++lane) {
    factors[lane] = static_cast<uint16_t>((all >> (lane / 2 * 4) & 15) + 1);
  }
}

/// Two bytes of memory that is written and read as bytes elsewhere.
using BytePair = uint16_t __attribute__((may_alias));

/// The bytes of 64 weights, out of the low (or high) nibbles of a line. Two bytes are computed in
/// one 16-bit lane: a nibble moved to its top and back is the code with its sign, and of a product
/// the lower byte is the weight, since weights have 8 bits.
template <bool kHigh>
inline void expand_half_line(const uint8_t* line, const uint16_t* factors, int8_t* out) {
  const auto* from = reinterpret_cast<const BytePair*>(line);
  auto* to = reinterpret_cast<BytePair*>(out);
  LATHE_INDEPENDENT_ITERATIONS
  for (int lane = 0; lane < 32; ++lane) {
    const uint16_t pair = from[lane];
    const auto first = static_cast<int16_t>(pair << (kHigh ? 8 : 12));
    const auto second = static_cast<int16_t>(kHigh ? pair : pair << 4);
    const auto low = static_cast<uint16_t>((first >> 12) * factors[lane]);
    const auto high = static_cast<uint16_t>((second >> 12) * factors[lane]);
    to[lane] = static_cast<uint16_t>((low & 255) | (high << 8));
  }
}

/// Group `group` (16 channels) to packed 8-bit weights, [ceil(k / 4)][16][4].
inline void expand_int4_group(const Int4Weights& weights, int64_t group, int64_t k,
                              int8_t* packed) {
  Int4Lines lines(weights.groups + group * weights.group_bytes);
  alignas(64) uint16_t factors[32];
  for (uint16_t& factor : factors) factor = 1;
  int64_t block_end = weights.block == 0 ? k : 0;
  const auto enter = [&](int64_t column) {
    if (column < block_end) return;
    read_factors(lines.factors(), factors);
    block_end += weights.block;
  };
  for (int64_t i = 0; i < k; i += kInt4LineDepth) {
    enter(i);
    const uint8_t* line = lines.codes();
    expand_half_line<false>(line, factors, packed + i * 16);
    if (i + 4 >= k) break;
    enter(i + 4);
    expand_half_line<true>(line, factors, packed + (i + 4) * 16);
  }
}

}  // namespace
}  // namespace lathe
