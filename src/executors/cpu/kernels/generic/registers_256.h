#pragma once

#include <immintrin.h>

#include "executors/cpu/kernels/generic/attention_scratch.h"

// What kernels in registers of 256 bits share: block factors of 4-bit weights, and how attention.h
// has keys and values packed.

namespace lathe {
namespace {

/// The factors of 16 channels in one block of 4-bit weights, a byte each.
inline __m128i factor_bytes(const uint8_t* nibbles) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(nibbles));
  const __m128i mask = _mm_set1_epi8(15);
  const __m128i in_order =
      _mm_unpacklo_epi8(_mm_and_si128(bytes, mask), _mm_and_si128(_mm_srli_epi16(bytes, 4), mask));
  return _mm_add_epi8(in_order, _mm_set1_epi8(1));
}

/// 8 int32 sums that wrap around.
using Packed = uint32_t __attribute__((vector_size(32)));

/// 16 codes of row i, or zeros (as w) beyond `depth`; `width` of them count.
inline __m128i load_codes(const uint8_t* source, int64_t stride, int64_t i, int64_t depth,
                          int64_t width) {
  if (i >= depth || width <= 0) return _mm_setzero_si128();
  const uint8_t* row = source + i * stride;
  const __m128i flip = _mm_set1_epi8(-128);
  if (width >= 16) {
    return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)), flip);
  }
  alignas(16) uint8_t some[16];
  for (int64_t c = 0; c < 16; ++c) some[c] = c < width ? row[c] : 128;
  return _mm_xor_si128(_mm_load_si128(reinterpret_cast<const __m128i*>(some)), flip);
}

/// packed [depth / 4][4 groups][16][4]
void pack_block(const uint8_t* source, int64_t stride, int64_t depth, int64_t width, int64_t next,
                int8_t* packed, int32_t* sums) {
  Packed totals[8] = {};
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < depth; i += 4) {
    for (int64_t row = i; row < smaller(i + 4, depth); ++row) {
      _mm_prefetch(reinterpret_cast<const char*>(source + row * stride + next), _MM_HINT_T1);
    }
    for (int group = 0; group < 4; ++group) {
      const uint8_t* from = source + group * 16;
      const int64_t left = width - group * 16;
      const __m128i r0 = load_codes(from, stride, i, depth, left);
      const __m128i r1 = load_codes(from, stride, i + 1, depth, left);
      const __m128i r2 = load_codes(from, stride, i + 2, depth, left);
      const __m128i r3 = load_codes(from, stride, i + 3, depth, left);
      const __m128i low01 = _mm_unpacklo_epi8(r0, r1);
      const __m128i high01 = _mm_unpackhi_epi8(r0, r1);
      const __m128i low23 = _mm_unpacklo_epi8(r2, r3);
      const __m128i high23 = _mm_unpackhi_epi8(r2, r3);
      __m128i* to = reinterpret_cast<__m128i*>(packed + i * kBlock + group * 64);
      _mm_store_si128(to, _mm_unpacklo_epi16(low01, low23));
      _mm_store_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
      _mm_store_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
      _mm_store_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
      const __m256i pairs[2] = {
          _mm256_set_m128i(high01, low01),
          _mm256_set_m128i(high23, low23),
      };
      for (const __m256i& pair : pairs) {
        const __m256i low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(pair));
        const __m256i high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(pair, 1));
        totals[2 * group] += (Packed)_mm256_madd_epi16(low, ones);
        totals[2 * group + 1] += (Packed)_mm256_madd_epi16(high, ones);
      }
    }
  }
  for (int i = 0; i < 8; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + i * 8), (__m256i)totals[i]);
  }
}

}  // namespace
}  // namespace lathe
