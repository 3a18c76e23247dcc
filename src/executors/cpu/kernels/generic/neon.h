#pragma once

// The kernels that neon_dotprod.cc and neon_i8mm.cc share. The source file that includes this
// defines before, in the anonymous namespace:
//   kFlip                       what every byte of a prepared activation is exclusive-ored with
//   kPreparedOffset             a prepared x stands for x - kPreparedOffset
//   Weights, weights_of(a, b)   4 channels by 8 of k, from registers of 4 channels by 4 of k
//   RowSums                     int32 sums of one row and 16 channels, for both byte planes:
//     clear()
//     add(j, x, weights)        channels 4 j to 4 j + 3, x as 8 high bytes and 8 low bytes
//     high(j), low(j)           sums of those channels

#include "executors/cpu/kernels/generic/attention_scratch.h"
#include "executors/cpu/kernels/generic/expand_int4.h"
#include "executors/cpu/kernels/generic/finish_linear.h"

namespace lathe {
namespace {

/// A prepared row is [k / 8][8 high bytes, 8 low bytes]. What fills it up is 0.
void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  constexpr uint8_t kPlanes[16] = {1, 3, 5, 7, 9, 11, 13, 15, 0, 2, 4, 6, 8, 10, 12, 14};
  const uint8x16_t planes = vld1q_u8(kPlanes);
  const uint8x16_t flip = vdupq_n_u8(kFlip);
  int64_t i = 0;
  for (; i + 8 <= k; i += 8) {
    const uint8x16_t codes = vreinterpretq_u8_u16(vld1q_u16(x + i));
    vst1q_u8(prepared + 2 * i, veorq_u8(vqtbl1q_u8(codes, planes), flip));
  }
  if (i == k) return;
  vst1q_u8(prepared + 2 * i, vdupq_n_u8(0));
  for (int64_t j = 0; j < k - i; ++j) {
    prepared[2 * i + j] = static_cast<uint8_t>(x[i + j] >> 8) ^ kFlip;
    prepared[2 * i + 8 + j] = static_cast<uint8_t>(x[i + j]) ^ kFlip;
  }
}

/// Sums of kRows rows and 16 channels.
template <int kRows>
struct Tile {
  RowSums rows[kRows];

  void clear() {
    for (RowSums& row : rows) row.clear();
  }

  /// Adds eight of k: x of row r at `x + r * stride`, two 64-byte blocks of weights.
  void add(const uint8_t* x, int64_t stride, const int8_t* first, const int8_t* second) {
    uint8x16_t activations[kRows];
    for (int r = 0; r < kRows; ++r) activations[r] = vld1q_u8(x + r * stride);
    for (int j = 0; j < 4; ++j) {
      const Weights weights = weights_of(vld1q_s8(first + j * 16), vld1q_s8(second + j * 16));
      for (int r = 0; r < kRows; ++r) rows[r].add(j, activations[r], weights);
    }
  }
};

/// total[4] += 256 * high + low
inline void add_planes(int32x4_t high, int32x4_t low, double* total) {
  int32_t high_sums[4];
  int32_t low_sums[4];
  vst1q_s32(high_sums, high);
  vst1q_s32(low_sums, low);
  for (int c = 0; c < 4; ++c) total[c] += high_sums[c] * 256.0 + low_sums[c];
}

/// The weights of the last four of eight of k: `step` bytes behind those of the first four. Where
/// only four are left, the activations beyond are 0, and any weights do.
inline const int8_t* second_block(const int8_t* first, int64_t step, int64_t left) {
  return left > 4 ? first + step : first;
}

template <int kRows>
void linear_tile(const LinearArgs& args, const ChannelGroup& group, int64_t first_row, int64_t n) {
  const int64_t depth = round_up(args.k, 4);
  const int64_t stride = args.prepared_stride;
  const uint8_t* x = args.prepared + first_row * stride;
  const int8_t* packed = args.weights + n * depth;
  double total[kRows][16] = {};
  for (int64_t at = 0; at < depth; at += kSafePlaneDepth) {
    const int64_t stop = smaller(depth, at + kSafePlaneDepth);
    Tile<kRows> tile;
    tile.clear();
    for (int64_t i = at; i < stop; i += 8) {
      const int8_t* first = packed + i * 16;
      tile.add(x + i * 2, stride, first, second_block(first, 64, depth - i));
    }
    for (int r = 0; r < kRows; ++r) {
      for (int j = 0; j < 4; ++j) {
        add_planes(tile.rows[r].high(j), tile.rows[r].low(j), total[r] + 4 * j);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    finish_group(total[r], group, args, args.y + (first_row + r) * args.y_stride + n);
  }
}

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  for (int64_t n = begin; n < end; n += 16) {
    const ChannelGroup group = channel_group(args, n, kPreparedOffset);
    int64_t row = 0;
    for (; row + 3 <= args.rows; row += 3) linear_tile<3>(args, group, row, n);
    if (args.rows - row == 2) linear_tile<2>(args, group, row, n);
    if (args.rows - row == 1) linear_tile<1>(args, group, row, n);
  }
}

/// Adds a line of 4-bit weights, 8 columns. Codes count 16 times: a nibble in the upper half of its
/// byte has its sign there.
inline void add_int4_line(RowSums& sums, const uint8_t* x, const uint8_t* line) {
  const uint8x16_t activations = vld1q_u8(x);
  for (int j = 0; j < 4; ++j) {
    const uint8x16_t bytes = vld1q_u8(line + j * 16);
    const int8x16_t first = vreinterpretq_s8_u8(vshlq_n_u8(bytes, 4));
    const int8x16_t second = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(0xF0)));
    sums.add(j, activations, weights_of(first, second));
  }
}

/// The factors of 16 channels in one block.
inline void load_factors(const uint8_t* nibbles, int32x4_t* factors) {
  const uint8x8_t bytes = vld1_u8(nibbles);
  const uint8x8x2_t in_order = vzip_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
  for (int half = 0; half < 2; ++half) {
    const uint16x8_t wide = vmovl_u8(vadd_u8(in_order.val[half], vdup_n_u8(1)));
    factors[2 * half] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(wide)));
    factors[2 * half + 1] = vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(wide)));
  }
}

bool linear_int4_row(const LinearArgs& args, int64_t begin, int64_t end) {
  const Int4Weights& weights = args.int4;
  if (weights.block % 8 != 0 || weights.block > kSafePlaneDepth) return false;
  const int64_t block = weights.block == 0 ? kSafePlaneDepth : weights.block;
  const int64_t safe = kSafePlaneDepth / block * block;
  for (int64_t n = begin; n < end; n += 16) {
    Int4Lines lines(weights.groups + n / 16 * weights.group_bytes);
    int32x4_t factors[4];
    for (int32x4_t& factor : factors) factor = vdupq_n_s32(1);
    double total[16] = {};
    for (int64_t at = 0; at < args.k; at += safe) {
      const int64_t stop = smaller(args.k, at + safe);
      int32x4_t high[4];
      int32x4_t low[4];
      for (int j = 0; j < 4; ++j) high[j] = low[j] = vdupq_n_s32(0);
      for (int64_t i = at; i < stop; i += block) {
        if (weights.block != 0) load_factors(lines.factors(), factors);
        RowSums sums;
        sums.clear();
        const int64_t block_end = smaller(stop, i + block);
        for (int64_t column = i; column < block_end; column += 8) {
          add_int4_line(sums, args.prepared + 2 * column, lines.codes());
        }
        for (int j = 0; j < 4; ++j) {
          high[j] = vmlaq_s32(high[j], vshrq_n_s32(sums.high(j), 4), factors[j]);
          low[j] = vmlaq_s32(low[j], vshrq_n_s32(sums.low(j), 4), factors[j]);
        }
      }
      for (int j = 0; j < 4; ++j) add_planes(high[j], low[j], total + 4 * j);
    }
    finish_group(total, channel_group(args, n, kPreparedOffset), args, args.y + n);
  }
  return true;
}

/// 16 codes of row i as w, or zeros beyond `depth`; `width` of them count.
inline uint8x16_t load_codes(const uint8_t* source, int64_t stride, int64_t i, int64_t depth,
                             int64_t width) {
  if (i >= depth || width <= 0) return vdupq_n_u8(0);
  const uint8_t* row = source + i * stride;
  const uint8x16_t flip = vdupq_n_u8(0x80);
  if (width >= 16) return veorq_u8(vld1q_u8(row), flip);
  uint8_t some[16];
  for (int64_t c = 0; c < 16; ++c) some[c] = c < width ? row[c] : 128;
  return veorq_u8(vld1q_u8(some), flip);
}

/// packed [depth / 4][4 groups][16][4]
void pack_block(const uint8_t* source, int64_t stride, int64_t depth, int64_t width, int64_t next,
                int8_t* packed, int32_t* sums) {
  int32x4_t totals[16];
  for (int32x4_t& total : totals) total = vdupq_n_s32(0);
  const int8x16_t ones = vdupq_n_s8(1);
  for (int64_t i = 0; i < depth; i += 4) {
    for (int64_t row = i; row < smaller(i + 4, depth); ++row) {
      __builtin_prefetch(source + row * stride + next);
    }
    for (int group = 0; group < 4; ++group) {
      const uint8_t* from = source + group * 16;
      const int64_t left = width - group * 16;
      uint8x16x4_t rows;
      for (int r = 0; r < 4; ++r) rows.val[r] = load_codes(from, stride, i + r, depth, left);
      int8_t* to = packed + i * kBlock + group * 64;
      vst4q_u8(reinterpret_cast<uint8_t*>(to), rows);
      for (int j = 0; j < 4; ++j) {
        totals[group * 4 + j] = vdotq_s32(totals[group * 4 + j], vld1q_s8(to + j * 16), ones);
      }
    }
  }
  for (int j = 0; j < 16; ++j) vst1q_s32(sums + j * 4, totals[j]);
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  for (int group = 0; group < 4; ++group) {
    Tile<1> tile;
    tile.clear();
    for (int64_t i = 0; i < depth; i += 8) {
      const int8_t* first = packed + i * kBlock + group * 64;
      tile.add(prepared + i * 2, 0, first, second_block(first, 4 * kBlock, depth - i));
    }
    const RowSums& sums = tile.rows[0];
    for (int j = 0; j < 4; ++j) {
      vst1q_s32(out + group * 16 + j * 4, vaddq_s32(vshlq_n_s32(sums.high(j), 8), sums.low(j)));
    }
  }
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/bytes_as_codes.h"
#include "executors/cpu/kernels/generic/every_kernel.h"
