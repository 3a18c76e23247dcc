// Kernels for AVX2. Dot products multiply 16-bit activations with weights widened to 16 bits
// (vpmaddwd): the byte instruction of AVX2 saturates.

#include <immintrin.h>

#include "executors/cpu/kernels/generic/attention_scratch.h"
#include "executors/cpu/kernels/generic/finish_linear.h"

namespace lathe {
namespace {

/// Activations are prepared as x - 32768, which is a signed 16-bit number.
constexpr int32_t kPreparedOffset = 32768;

/// Products of 16 by 8 bits reach 2^22: this many sum without overflow.
constexpr int64_t kSafeDepth = 508;

/// How far ahead of their use weights are fetched from memory, in bytes.
constexpr int64_t kPrefetch = 1536;

void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  uint16_t* out = reinterpret_cast<uint16_t*>(prepared);
  for (int64_t i = 0; i < k; ++i) out[i] = x[i] ^ 0x8000;
  for (int64_t i = k; i < round_up(k, 4); ++i) out[i] = 0;
}

/// 8 int32 sums. Not __m256i, which is a vector of 64-bit numbers: through the change of type GCC
/// keeps two registers for each sum and spills a tile of them to memory.
using Sums = uint32_t __attribute__((vector_size(32)));

/// Sums of kRows rows and 16 channels. Register j of a row holds channels 4j to 4j + 3, two partial
/// sums each.
template <int kRows>
struct Tile {
  Sums sums[kRows][4] = {};

  /// Adds four of k: x of row r at `x + r * stride`, one 64-byte block of weights.
  void add(const uint8_t* x, int64_t stride, const int8_t* packed) {
    __m256i activations[kRows];
    for (int r = 0; r < kRows; ++r) {
      long long quad;
      __builtin_memcpy(&quad, x + r * stride, sizeof(quad));
      activations[r] = _mm256_set1_epi64x(quad);
    }
    for (int j = 0; j < 4; ++j) {
      const __m256i weights =
          _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(packed + j * 16)));
      for (int r = 0; r < kRows; ++r) {
        sums[r][j] += (Sums)_mm256_madd_epi16(weights, activations[r]);
      }
    }
  }

  /// Channels 8 * half to 8 * half + 7 of a row.
  __m256i channels(int row, int half) const {
    const __m256i pairs =
        _mm256_hadd_epi32((__m256i)sums[row][2 * half], (__m256i)sums[row][2 * half + 1]);
    return _mm256_permute4x64_epi64(pairs, 0xD8);
  }
};

template <int kRows>
void linear_tile(const LinearArgs& args, const ChannelGroup& group, int64_t first_row, int64_t n) {
  const int64_t depth = round_up(args.k, 4);
  const int64_t stride = args.prepared_stride;
  const uint8_t* x = args.prepared + first_row * stride;
  const int8_t* packed = args.weights + n * depth;
  alignas(32) double total[kRows][16] = {};
  for (int64_t at = 0; at < depth; at += kSafeDepth) {
    const int64_t stop = smaller(depth, at + kSafeDepth);
    Tile<kRows> tile;
    for (int64_t i = at; i < stop; i += 4) {
      _mm_prefetch(reinterpret_cast<const char*>(packed + i * 16 + kPrefetch), _MM_HINT_T0);
      tile.add(x + i * 2, stride, packed + i * 16);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int half = 0; half < 2; ++half) {
        const __m256i sums = tile.channels(r, half);
        double* to = total[r] + half * 8;
        const __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(sums));
        const __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(sums, 1));
        _mm256_store_pd(to, _mm256_add_pd(_mm256_load_pd(to), low));
        _mm256_store_pd(to + 4, _mm256_add_pd(_mm256_load_pd(to + 4), high));
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

/// Products want weights of 16 bits, so expanding them to 8 first is little on top.
bool linear_int4_row(const LinearArgs&, int64_t, int64_t) { return false; }

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
  Sums totals[8] = {};
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < depth; i += 4) {
    for (int64_t row = i; row < smaller(i + 4, depth); ++row) {
      _mm_prefetch(reinterpret_cast<const char*>(source + row * stride + next), _MM_HINT_T0);
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
        totals[2 * group] += (Sums)_mm256_madd_epi16(low, ones);
        totals[2 * group + 1] += (Sums)_mm256_madd_epi16(high, ones);
      }
    }
  }
  for (int i = 0; i < 8; ++i) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(sums + i * 8), (__m256i)totals[i]);
  }
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  for (int group = 0; group < 4; ++group) {
    Tile<1> tile;
    for (int64_t i = 0; i < depth; i += 4) {
      tile.add(prepared + i * 2, 0, packed + i * kBlock + group * 64);
    }
    for (int half = 0; half < 2; ++half) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(out + group * 16 + half * 8),
                         tile.channels(0, half));
    }
  }
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/attention.h"
#include "executors/cpu/kernels/generic/elementwise.h"
#include "executors/cpu/kernels/generic/hadamard.h"
#include "executors/cpu/kernels/generic/linear_int4.h"
#include "executors/cpu/kernels/generic/matmul.h"
#include "executors/cpu/kernels/generic/prepare_bytes.h"
#include "executors/cpu/kernels/generic/rms_norm.h"
#include "executors/cpu/kernels/generic/rope.h"
#include "executors/cpu/kernels/generic/softmax.h"
#include "executors/cpu/kernels/generic/table.h"
#include "executors/cpu/kernels/tables.h"

namespace lathe {

constinit const Kernels kAvx2Kernels = make_table(Isa::avx2);

}  // namespace lathe
