// Kernels for AVX2. Dot products multiply 16-bit activations with weights widened to 16 bits
// (vpmaddwd): the byte instruction of AVX2 saturates.

#include <immintrin.h>

#include "executors/cpu/kernels/generic/expand_int4.h"
#include "executors/cpu/kernels/generic/finish_linear.h"
#include "executors/cpu/kernels/generic/registers_256.h"

namespace lathe {
namespace {

/// Activations are prepared as x - 32768, which is a signed 16-bit number.
constexpr int32_t kPreparedOffset = 32768;

/// Products of 16 by 8 bits reach 2^22: this many sum without overflow.
constexpr int64_t kSafeDepth = 508;

/// Lines of 8 columns.
constexpr int64_t kSafeLines = kSafePlaneDepth / 8;

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

// One row times 4-bit weights. Products of a byte with a code of 4 bits are small enough for the
// byte instruction (vpmaddubsw): 8 sums of two of them stay within 2 * 8 * 255 * 8 < 2^15. So codes
// are multiplied with both byte planes of x, and widened (vpmaddwd) every 8 times four columns, by
// the factor of their block.

/// Lines of 8 columns that 16-bit sums hold.
constexpr int64_t kRunLines = 4;

/// A prepared row of int16 [k] as [k / 4][4 high bytes, 4 low bytes] of the codes, unsigned.
void split_planes(const uint8_t* prepared, int64_t k, uint8_t* planes) {
  const __m128i order = _mm_setr_epi8(1, 3, 5, 7, 0, 2, 4, 6, 9, 11, 13, 15, 8, 10, 12, 14);
  const __m128i flip = _mm_set1_epi16(-32768);
  for (int64_t i = 0; i < k; i += 8) {
    const __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(prepared + 2 * i));
    _mm_store_si128(reinterpret_cast<__m128i*>(planes + 2 * i),
                    _mm_shuffle_epi8(_mm_xor_si128(x, flip), order));
  }
}

inline __m256i broadcast4(const uint8_t* bytes) {
  int32_t quad;
  __builtin_memcpy(&quad, bytes, sizeof(quad));
  return _mm256_set1_epi32(quad);
}

/// The factors of 16 channels, each for the two 16-bit sums of its channel.
inline void load_factors(const uint8_t* nibbles, __m256i* factors) {
  const __m128i bytes = factor_bytes(nibbles);
  factors[0] = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(bytes, bytes));
  factors[1] = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(bytes, bytes));
}

/// Sums of two columns each, of 8 channels in either register, for both planes.
struct Run {
  __m256i high[2] = {};
  __m256i low[2] = {};

  void add(const uint8_t* planes, const uint8_t* line) {
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
    const __m256i codes = _mm256_broadcastsi128_si256(table);
    const __m256i mask = _mm256_set1_epi8(15);
    for (int half = 0; half < 2; ++half) {
      const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(line + half * 32));
      const __m256i first = _mm256_shuffle_epi8(codes, _mm256_and_si256(bytes, mask));
      const __m256i second =
          _mm256_shuffle_epi8(codes, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), mask));
      add(high[half], planes, first);
      add(low[half], planes + 4, first);
      add(high[half], planes + 8, second);
      add(low[half], planes + 12, second);
    }
  }

 private:
  static void add(__m256i& sums, const uint8_t* quad, __m256i codes) {
    sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(broadcast4(quad), codes));
  }
};

/// total[16] += 256 * high + low
inline void add_planes(const Sums* high, const Sums* low, double* total) {
  for (int half = 0; half < 2; ++half) {
    for (int quarter = 0; quarter < 2; ++quarter) {
      const auto part = [&](Sums sums) {
        return _mm256_cvtepi32_pd(quarter == 0 ? _mm256_castsi256_si128((__m256i)sums)
                                               : _mm256_extracti128_si256((__m256i)sums, 1));
      };
      double* to = total + half * 8 + quarter * 4;
      const __m256d sum =
          _mm256_add_pd(_mm256_mul_pd(part(high[half]), _mm256_set1_pd(256.0)), part(low[half]));
      _mm256_store_pd(to, _mm256_add_pd(_mm256_load_pd(to), sum));
    }
  }
}

bool linear_int4_row(const LinearArgs& args, int64_t begin, int64_t end) {
  const Int4Weights& weights = args.int4;
  // Columns that are widened together have one factor.
  if (weights.block % 16 != 0) return false;
  const int64_t run_lines =
      weights.block == 0 || weights.block % (8 * kRunLines) == 0 ? kRunLines : 2;
  const int64_t count = (args.k + 7) / 8;
  auto* planes = reinterpret_cast<uint8_t*>(weights.scratch);
  split_planes(args.prepared, args.k, planes);
  for (int64_t n = begin; n < end; n += 16) {
    Int4Lines lines(weights.groups + n / 16 * weights.group_bytes);
    __m256i factors[2] = {_mm256_set1_epi16(1), _mm256_set1_epi16(1)};
    int64_t block_end = weights.block == 0 ? count : 0;
    alignas(32) double total[16] = {};
    for (int64_t at = 0; at < count; at += kSafeLines) {
      const int64_t stop = smaller(count, at + kSafeLines);
      Sums high[2] = {};
      Sums low[2] = {};
      for (int64_t i = at; i < stop; i += run_lines) {
        if (i >= block_end) {
          load_factors(lines.factors(), factors);
          block_end += weights.block / 8;
        }
        Run run;
        const int64_t run_end = smaller(stop, i + run_lines);
        for (int64_t line = i; line < run_end; ++line) {
          run.add(planes + line * 16, lines.codes());
        }
        for (int half = 0; half < 2; ++half) {
          high[half] += (Sums)_mm256_madd_epi16(run.high[half], factors[half]);
          low[half] += (Sums)_mm256_madd_epi16(run.low[half], factors[half]);
        }
      }
      add_planes(high, low, total);
    }
    finish_group(total, channel_group(args, n, 0), args, args.y + n);
  }
  return true;
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

#include "executors/cpu/kernels/generic/bytes_as_codes.h"
#include "executors/cpu/kernels/generic/every_kernel.h"

namespace lathe {

constinit const Kernels kAvx2Kernels = make_table(Isa::avx2);

}  // namespace lathe
