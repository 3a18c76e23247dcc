#pragma once

#include <immintrin.h>

#include "executors/cpu/kernels/generic/attention_scratch.h"

// What byte_planes.h and attention.h ask for, in registers of 512 bits. The source file that
// includes this defines before, in the anonymous namespace, how it multiplies:
//   Line, weights_of(bytes)   64 weights as the second operand of a dot product
//   Quad, quad_of(bytes)      four activations in every 32 bits, as the first
//   dot(sums, quad, line)     sums + the four-way dot products, Avx512Sums

namespace lathe {
namespace {

constexpr int kMaxRows = 6;
/// The sums of a tile fill most of the 32 registers.
template <int kPlanes>
constexpr int kTileGroups = 4 / kPlanes;
constexpr int kUnroll = 4;
/// How far ahead of their use weights are fetched from memory, in bytes.
constexpr int64_t kPrefetch = 4096;

/// See byte_planes.h: 32 codes are half a run of each plane.
void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  for (int64_t i = 0; i < round_up(k, 64); i += 32) {
    const int64_t left = k - i;
    const __mmask32 some = left >= 32 ? ~0u : left > 0 ? (1u << left) - 1 : 0;
    const __m512i codes = _mm512_maskz_loadu_epi16(some, x + i);
    uint8_t* to = prepared + i + (i & ~int64_t{63});
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtepi16_epi8(_mm512_srli_epi16(codes, 8)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 64), _mm512_cvtepi16_epi8(codes));
  }
}

using Bytes = __m512i;
inline Bytes load_bytes(const void* address) { return _mm512_load_si512(address); }
inline Bytes low_nibbles(Bytes line) {
  return _mm512_and_si512(_mm512_slli_epi16(line, 4), _mm512_set1_epi8(-16));
}
inline Bytes high_nibbles(Bytes line) { return _mm512_and_si512(line, _mm512_set1_epi8(-16)); }

inline Quad load_quad(const uint8_t* bytes) {
  int32_t quad;
  __builtin_memcpy(&quad, bytes, sizeof(quad));
  return quad_of(_mm512_set1_epi32(quad));
}

using Sums = Avx512Sums;
inline Sums without_sixteen(Sums sums) { return (Sums)_mm512_srai_epi32((__m512i)sums, 4); }

/// The factors of 16 channels in one block.
inline Sums load_factors(const uint8_t* nibbles) {
  const __m128i pairs =
      _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(nibbles)));
  const __m128i bytes =
      _mm_and_si128(_mm_or_si128(pairs, _mm_slli_epi16(pairs, 4)), _mm_set1_epi8(15));
  return (Sums)_mm512_cvtepu8_epi32(_mm_add_epi8(bytes, _mm_set1_epi8(1)));
}

/// The lower or upper 8 of 16 int32, as float64.
inline __m512d widen(__m512i x, int half) {
  return _mm512_cvtepi32_pd(half == 0 ? _mm512_castsi512_si256(x)
                                      : _mm512_extracti64x4_epi64(x, 1));
}

/// 16 float64: whole numbers below 2^53, exact in any order.
struct Totals {
  __m512d half[2];

  void add(Sums high, Sums low) {
    for (int h = 0; h < 2; ++h) {
      const __m512d sum = _mm512_add_pd(
          _mm512_mul_pd(widen((__m512i)high, h), _mm512_set1_pd(256.0)), widen((__m512i)low, h));
      half[h] = _mm512_add_pd(half[h], sum);
    }
  }
};

/// What 16 channels add to their sums and multiply with; see LinearArgs.
struct ChannelGroup {
  __m512d add[2];
  __m512d multiplier[2];
  __mmask16 mask;  ///< channels of the group that there are
};

inline ChannelGroup channel_group(const LinearArgs& args, int64_t first) {
  ChannelGroup group;
  const int64_t count = args.channels - first;
  group.mask = static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << count) - 1);
  const __m512i sums = _mm512_maskz_loadu_epi32(group.mask, args.weight_sums + first);
  const __m512i bias = args.bias == nullptr
                           ? _mm512_setzero_si512()
                           : _mm512_maskz_loadu_epi32(group.mask, args.bias + first);
  const __m512d shift = _mm512_set1_pd(-args.x_zero_point);
  for (int half = 0; half < 2; ++half) {
    group.add[half] = _mm512_add_pd(_mm512_mul_pd(widen(sums, half), shift), widen(bias, half));
    group.multiplier[half] = _mm512_maskz_loadu_pd(static_cast<__mmask8>(group.mask >> (8 * half)),
                                                   args.multiplier + first + 8 * half);
  }
  return group;
}

/// Raw sums of one row and 16 channels -> output codes.
inline void finish_group(const Totals& totals, const ChannelGroup& group, const LinearArgs& args,
                         uint16_t* y) {
  const __m512d low = _mm512_set1_pd(args.y_low - args.y_zero_point);
  const __m512d high = _mm512_set1_pd(args.y_high - args.y_zero_point);
  __m256i steps[2];
  for (int half = 0; half < 2; ++half) {
    const __m512d real =
        _mm512_mul_pd(_mm512_add_pd(totals.half[half], group.add[half]), group.multiplier[half]);
    steps[half] = _mm512_cvt_roundpd_epi32(_mm512_min_pd(_mm512_max_pd(real, low), high),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  const __m512i codes =
      _mm512_add_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(steps[0]), steps[1], 1),
                       _mm512_set1_epi32(args.y_zero_point));
  _mm512_mask_cvtepi32_storeu_epi16(y, group.mask, codes);
}

/// packed [depth / 4][4 registers][64]: interleaving within 128-bit lanes leaves columns 16 L + 4 j
/// to 16 L + 4 j + 3 in lane L of register j; in_order() puts sums right.
inline void in_order(const Sums* scattered, int32_t* out) {
  const __m512i a = _mm512_shuffle_i32x4((__m512i)scattered[0], (__m512i)scattered[1], 0x44);
  const __m512i b = _mm512_shuffle_i32x4((__m512i)scattered[2], (__m512i)scattered[3], 0x44);
  const __m512i c = _mm512_shuffle_i32x4((__m512i)scattered[0], (__m512i)scattered[1], 0xEE);
  const __m512i d = _mm512_shuffle_i32x4((__m512i)scattered[2], (__m512i)scattered[3], 0xEE);
  _mm512_storeu_si512(out, _mm512_shuffle_i32x4(a, b, 0x88));
  _mm512_storeu_si512(out + 16, _mm512_shuffle_i32x4(a, b, 0xDD));
  _mm512_storeu_si512(out + 32, _mm512_shuffle_i32x4(c, d, 0x88));
  _mm512_storeu_si512(out + 48, _mm512_shuffle_i32x4(c, d, 0xDD));
}

void pack_block(const uint8_t* source, int64_t stride, int64_t depth, int64_t width, int64_t next,
                int8_t* packed, int32_t* sums) {
  const __mmask64 some = width >= kBlock ? ~0ull : (1ull << width) - 1;
  const __m512i flip = _mm512_set1_epi8(-128);
  const Quad ones = quad_of(_mm512_set1_epi8(1));
  Sums totals[4] = {};
  for (int64_t i = 0; i < depth; i += 4) {
    __m512i rows[4];
    for (int r = 0; r < 4; ++r) {
      const uint8_t* row = source + (i + r) * stride;
      rows[r] = _mm512_setzero_si512();
      if (i + r < depth) {
        rows[r] = _mm512_xor_si512(_mm512_mask_loadu_epi8(flip, some, row), flip);
        _mm_prefetch(reinterpret_cast<const char*>(row + next), _MM_HINT_T1);
      }
    }
    const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]);
    const __m512i high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
    const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]);
    const __m512i high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
    const __m512i quads[4] = {
        _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
        _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
    for (int j = 0; j < 4; ++j) {
      _mm512_store_si512(packed + i * kBlock + j * 64, quads[j]);
      totals[j] = dot(totals[j], ones, weights_of(quads[j]));
    }
  }
  in_order(totals, sums);
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  Sums high[4] = {};
  Sums low[4] = {};
  for (int64_t i = 0; i < depth; i += 4) {
    const uint8_t* quad = prepared + i + (i & ~int64_t{63});
    const Quad high_bytes = load_quad(quad);
    const Quad low_bytes = load_quad(quad + 64);
    for (int j = 0; j < 4; ++j) {
      Bytes bytes = load_bytes(packed + i * kBlock + j * 64);
      // In a register: GCC would read memory for both products, and reading is what takes longest.
      asm("" : "+v"(bytes));
      const Line weights = weights_of(bytes);
      high[j] = dot(high[j], high_bytes, weights);
      low[j] = dot(low[j], low_bytes, weights);
    }
  }
  Sums sums[4];
  for (int j = 0; j < 4; ++j) {
    sums[j] = (Sums)_mm512_add_epi32(_mm512_slli_epi32((__m512i)high[j], 8), (__m512i)low[j]);
  }
  in_order(sums, out);
}

}  // namespace
}  // namespace lathe
