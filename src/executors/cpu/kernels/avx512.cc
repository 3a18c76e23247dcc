// Kernels for AVX-512 with VNNI. Activations are split into their high and low bytes, each
// multiplied with the 8-bit weights (vpdpbusd, which wraps around and does not saturate).

#include <immintrin.h>

#include "executors/cpu/kernels/generic/attention_scratch.h"

namespace lathe {
namespace {

/// A prepared row is [k / 4][4 high bytes, 4 low bytes]: unsigned, as they are; of 8-bit codes
/// there are low bytes only. What fills up a line of 64 bytes is 0.
constexpr int32_t kPreparedOffset = 0;

/// A sum of one byte plane grows by at most 255 * 128 per element: this many fit int32.
constexpr int64_t kSafeDepth = 65536;

/// How far ahead of their use weights are fetched from memory, in bytes.
constexpr int64_t kPrefetch = 4096;

constexpr int kMaxRows = 6;

/// Byte planes of a prepared row.
constexpr int kBothPlanes = 2;
constexpr int kOnePlane = 1;

void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  const __m512i planes =
      _mm512_broadcast_i32x4(_mm_setr_epi8(1, 3, 5, 7, 0, 2, 4, 6, 9, 11, 13, 15, 8, 10, 12, 14));
  for (int64_t i = 0; i < k; i += 32) {
    const __mmask32 some = k - i >= 32 ? ~0u : (1u << (k - i)) - 1;
    const __m512i codes = _mm512_maskz_loadu_epi16(some, x + i);
    _mm512_storeu_si512(prepared + 2 * i, _mm512_shuffle_epi8(codes, planes));
  }
}

void prepare_bytes(const uint8_t* x, int64_t k, uint8_t* prepared) noexcept {
  __builtin_memcpy(prepared, x, static_cast<size_t>(k));
  __builtin_memset(prepared + k, 0, static_cast<size_t>(round_up(k, 64) - k));
}

inline __m512i broadcast4(const uint8_t* bytes) {
  int32_t quad;
  __builtin_memcpy(&quad, bytes, sizeof(quad));
  return _mm512_set1_epi32(quad);
}

/// 16 int32 sums. Not __m512i, which is a vector of 64-bit numbers: through the change of type GCC
/// keeps two registers for each sum and spills a tile of them to memory.
using Sums = int32_t __attribute__((vector_size(64)));

/// sums + the dot products of four unsigned and four signed bytes
inline Sums dot(Sums sums, __m512i bytes, __m512i weights) {
  return (Sums)_mm512_dpbusd_epi32((__m512i)sums, bytes, weights);
}

inline Sums plus(Sums a, Sums b) { return (Sums)_mm512_add_epi32((__m512i)a, (__m512i)b); }

/// The lower or upper 8 of 16 int32, as float64.
inline __m512d widen(__m512i x, int half) {
  return _mm512_cvtepi32_pd(half == 0 ? _mm512_castsi512_si256(x)
                                      : _mm512_extracti64x4_epi64(x, 1));
}

/// total[2] += 256 * high + low, for the lower and the upper 8 sums.
inline void add_planes(Sums high, Sums low, __m512d* total) {
  for (int half = 0; half < 2; ++half) {
    const __m512d sum =
        _mm512_add_pd(_mm512_mul_pd(widen((__m512i)high, half), _mm512_set1_pd(256.0)),
                      widen((__m512i)low, half));
    total[half] = _mm512_add_pd(total[half], sum);
  }
}

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

/// Raw sums of one row and 16 channels -> output codes. Sums are whole numbers below 2^53, so
/// float64 adds them exactly in any order.
inline void finish_group(const __m512d* sums, const ChannelGroup& group, const LinearArgs& args,
                         uint16_t* y) {
  const __m512d low = _mm512_set1_pd(args.y_low - args.y_zero_point);
  const __m512d high = _mm512_set1_pd(args.y_high - args.y_zero_point);
  __m256i steps[2];
  for (int half = 0; half < 2; ++half) {
    const __m512d real =
        _mm512_mul_pd(_mm512_add_pd(sums[half], group.add[half]), group.multiplier[half]);
    steps[half] = _mm512_cvt_roundpd_epi32(_mm512_min_pd(_mm512_max_pd(real, low), high),
                                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  const __m512i codes =
      _mm512_add_epi32(_mm512_inserti64x4(_mm512_castsi256_si512(steps[0]), steps[1], 1),
                       _mm512_set1_epi32(args.y_zero_point));
  _mm512_mask_cvtepi32_storeu_epi16(y, group.mask, codes);
}

/// The sums of some rows and groups of channels, a register each for 16 channels of a plane.
template <int kPlanes, int kRows, int kGroups>
struct Tile {
  Sums low[kRows][kGroups] = {};
  Sums high[kPlanes == kBothPlanes ? kRows : 1][kGroups] = {};

  /// Adds four of k: x of row r at `quad + r * stride`.
  void add(const uint8_t* quad, int64_t stride, const __m512i* weights) {
    for (int r = 0; r < kRows; ++r) {
      const __m512i first = broadcast4(quad + r * stride);
      if constexpr (kPlanes == kBothPlanes) {
        const __m512i second = broadcast4(quad + r * stride + 4);
        for (int g = 0; g < kGroups; ++g) {
          high[r][g] = dot(high[r][g], first, weights[g]);
          low[r][g] = dot(low[r][g], second, weights[g]);
        }
      } else {
        for (int g = 0; g < kGroups; ++g) low[r][g] = dot(low[r][g], first, weights[g]);
      }
    }
  }

  /// total[2] += the sums of a row and group
  void add_to(__m512d* total, int row, int group) const {
    if constexpr (kPlanes == kBothPlanes) {
      add_planes(high[row][group], low[row][group], total);
    } else {
      add_planes(Sums{}, low[row][group], total);
    }
  }
};

/// kRows rows by kGroups groups of 16 channels.
template <int kPlanes, int kRows, int kGroups>
void linear_tile(const LinearArgs& args, const ChannelGroup* groups, int64_t first_row, int64_t n) {
  const int64_t depth = round_up(args.k, 4);
  const int64_t stride = args.prepared_stride;
  const uint8_t* x = args.prepared + first_row * stride;
  const int8_t* packed = args.weights + n * depth;
  __m512d total[kRows][kGroups][2] = {};
  for (int64_t at = 0; at < depth; at += kSafeDepth) {
    const int64_t stop = smaller(depth, at + kSafeDepth);
    Tile<kPlanes, kRows, kGroups> tile;
    for (int64_t i = at; i < stop; i += 4) {
      __m512i weights[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        weights[g] = _mm512_load_si512(packed + (g * depth + i) * 16);
      }
      tile.add(x + kPlanes * i, stride, weights);
    }
    for (int r = 0; r < kRows; ++r) {
      for (int g = 0; g < kGroups; ++g) tile.add_to(total[r][g], r, g);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int g = 0; g < kGroups; ++g) {
      finish_group(total[r][g], groups[g], args,
                   args.y + (first_row + r) * args.y_stride + n + g * 16);
    }
  }
}

/// One row: bound by memory, so the weights are read in one ascending stream.
template <int kPlanes>
void linear_row(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t depth = round_up(args.k, 4);
  constexpr int kUnroll = 4;
  for (int64_t n = begin; n < end; n += 16) {
    const int8_t* packed = args.weights + n * depth;
    __m512d total[2] = {};
    for (int64_t at = 0; at < depth; at += kSafeDepth) {
      const int64_t stop = smaller(depth, at + kSafeDepth);
      Tile<kPlanes, 1, 1> tiles[kUnroll];
      const auto add = [&](int64_t i, int u) {
        const __m512i weights = _mm512_load_si512(packed + i * 16);
        _mm_prefetch(reinterpret_cast<const char*>(packed + i * 16 + kPrefetch), _MM_HINT_T0);
        tiles[u].add(args.prepared + kPlanes * i, 0, &weights);
      };
      int64_t i = at;
      for (; i + 4 * kUnroll <= stop; i += 4 * kUnroll) {
        for (int u = 0; u < kUnroll; ++u) add(i + 4 * u, u);
      }
      for (; i < stop; i += 4) add(i, 0);
      for (const auto& tile : tiles) tile.add_to(total, 0, 0);
    }
    finish_group(total, channel_group(args, n), args, args.y + n);
  }
}

template <int kPlanes, int kGroups>
void linear_rows(const LinearArgs& args, int64_t n) {
  ChannelGroup groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = channel_group(args, n + g * 16);
  const int64_t tiles = (args.rows + kMaxRows - 1) / kMaxRows;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t row = args.rows * tile / tiles;
    switch (args.rows * (tile + 1) / tiles - row) {
      case 1:
        linear_tile<kPlanes, 1, kGroups>(args, groups, row, n);
        break;
      case 2:
        linear_tile<kPlanes, 2, kGroups>(args, groups, row, n);
        break;
      case 3:
        linear_tile<kPlanes, 3, kGroups>(args, groups, row, n);
        break;
      case 4:
        linear_tile<kPlanes, 4, kGroups>(args, groups, row, n);
        break;
      case 5:
        linear_tile<kPlanes, 5, kGroups>(args, groups, row, n);
        break;
      default:
        linear_tile<kPlanes, kMaxRows, kGroups>(args, groups, row, n);
        break;
    }
  }
}

template <int kPlanes>
void linear_planes(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.rows == 1) {
    linear_row<kPlanes>(args, begin, end);
    return;
  }
  // The sums of a tile fill most of the 32 registers.
  constexpr int kGroups = 4 / kPlanes;
  int64_t n = begin;
  for (; n + 16 * kGroups <= round_up(end, 16); n += 16 * kGroups) {
    linear_rows<kPlanes, kGroups>(args, n);
  }
  for (; n < end; n += 16) linear_rows<kPlanes, 1>(args, n);
}

void linear(const LinearArgs& args, int64_t begin, int64_t end) noexcept {
  if (args.bytes) {
    linear_planes<kOnePlane>(args, begin, end);
  } else {
    linear_planes<kBothPlanes>(args, begin, end);
  }
}

/// The factors of 16 channels in one block.
inline Sums load_factors(const uint8_t* nibbles) {
  const __m128i pairs =
      _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(nibbles)));
  const __m128i bytes =
      _mm_and_si128(_mm_or_si128(pairs, _mm_slli_epi16(pairs, 4)), _mm_set1_epi8(15));
  return (Sums)_mm512_cvtepu8_epi32(_mm_add_epi8(bytes, _mm_set1_epi8(1)));
}

/// 16 * code in every byte: the nibbles stay in the upper half, which makes them signed.
inline __m512i low_nibbles(__m512i line) {
  return _mm512_and_si512(_mm512_slli_epi16(line, 4), _mm512_set1_epi8(-16));
}
inline __m512i high_nibbles(__m512i line) { return _mm512_and_si512(line, _mm512_set1_epi8(-16)); }
inline Sums without_sixteen(Sums sums) { return (Sums)_mm512_srai_epi32((__m512i)sums, 4); }

/// Sums of code * x over the lines [0, lines), 8 columns each.
template <int kPlanes>
inline void dot_lines(const uint8_t* x, const uint8_t* codes, int64_t lines, Sums* high,
                      Sums* low) {
  Tile<kPlanes, 1, 1> first;
  Tile<kPlanes, 1, 1> second;
  for (int64_t i = 0; i < lines; ++i) {
    const __m512i line = _mm512_load_si512(codes + i * 64);
    _mm_prefetch(reinterpret_cast<const char*>(codes + i * 64 + kPrefetch), _MM_HINT_T0);
    const __m512i weights[2] = {low_nibbles(line), high_nibbles(line)};
    const uint8_t* quads = x + kPlanes * 8 * i;
    first.add(quads, 0, weights);
    second.add(quads + kPlanes * 4, 0, weights + 1);
  }
  *low = without_sixteen(plus(first.low[0][0], second.low[0][0]));
  if constexpr (kPlanes == kBothPlanes) {
    *high = without_sixteen(plus(first.high[0][0], second.high[0][0]));
  }
}

/// kBlockLines: lines that share factors; 0: there are no factors.
template <int kPlanes, int kBlockLines>
void linear_int4_groups(const LinearArgs& args, int64_t begin, int64_t end) {
  const Int4Weights& weights = args.int4;
  for (int64_t n = begin; n < end; n += 16) {
    const uint8_t* codes = weights.groups + n / 16 * weights.group_bytes;
    const uint8_t* factors = codes + weights.factors;
    __m512d total[2] = {};
    for (int64_t at = 0; at < args.k; at += kSafeDepth) {
      const int64_t lines = (smaller(args.k - at, kSafeDepth) + 7) / 8;
      const uint8_t* x = args.prepared + kPlanes * at;
      Sums high = {};
      Sums low = {};
      if constexpr (kBlockLines == 0) {
        dot_lines<kPlanes>(x, codes + at * 8, lines, &high, &low);
      } else {
        for (int64_t i = 0; i < lines; i += kBlockLines) {
          Sums block_high = {};
          Sums block_low = {};
          dot_lines<kPlanes>(x + kPlanes * 8 * i, codes + at * 8 + i * 64, kBlockLines, &block_high,
                             &block_low);
          const Sums factor = load_factors(factors);
          factors += 8;
          high = plus(high, block_high * factor);
          low = plus(low, block_low * factor);
        }
      }
      add_planes(high, low, total);
    }
    finish_group(total, channel_group(args, n), args, args.y + n);
  }
}

template <int kPlanes>
bool linear_int4_planes(const LinearArgs& args, int64_t begin, int64_t end) {
  switch (args.int4.block) {
    case 0:
      linear_int4_groups<kPlanes, 0>(args, begin, end);
      return true;
    case 16:
      linear_int4_groups<kPlanes, 2>(args, begin, end);
      return true;
    case 32:
      linear_int4_groups<kPlanes, 4>(args, begin, end);
      return true;
    case 64:
      linear_int4_groups<kPlanes, 8>(args, begin, end);
      return true;
    default:
      return false;
  }
}

bool linear_int4_row(const LinearArgs& args, int64_t begin, int64_t end) {
  return args.bytes ? linear_int4_planes<kOnePlane>(args, begin, end)
                    : linear_int4_planes<kBothPlanes>(args, begin, end);
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
  const __m512i ones = _mm512_set1_epi8(1);
  Sums totals[4] = {};
  for (int64_t i = 0; i < depth; i += 4) {
    __m512i rows[4];
    for (int r = 0; r < 4; ++r) {
      const uint8_t* row = source + (i + r) * stride;
      rows[r] = _mm512_setzero_si512();
      if (i + r < depth) {
        rows[r] = _mm512_xor_si512(_mm512_mask_loadu_epi8(flip, some, row), flip);
        _mm_prefetch(reinterpret_cast<const char*>(row + next), _MM_HINT_T0);
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
      totals[j] = dot(totals[j], ones, quads[j]);
    }
  }
  in_order(totals, sums);
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  Sums high[4] = {};
  Sums low[4] = {};
  for (int64_t i = 0; i < depth; i += 4) {
    const __m512i high_bytes = broadcast4(prepared + 2 * i);
    const __m512i low_bytes = broadcast4(prepared + 2 * i + 4);
    for (int j = 0; j < 4; ++j) {
      const __m512i weights = _mm512_load_si512(packed + i * kBlock + j * 64);
      high[j] = dot(high[j], high_bytes, weights);
      low[j] = dot(low[j], low_bytes, weights);
    }
  }
  Sums sums[4];
  for (int j = 0; j < 4; ++j) {
    sums[j] = plus((Sums)_mm512_slli_epi32((__m512i)high[j], 8), low[j]);
  }
  in_order(sums, out);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/attention.h"
#include "executors/cpu/kernels/generic/elementwise.h"
#include "executors/cpu/kernels/generic/hadamard.h"
#include "executors/cpu/kernels/generic/linear_int4.h"
#include "executors/cpu/kernels/generic/matmul.h"
#include "executors/cpu/kernels/generic/rms_norm.h"
#include "executors/cpu/kernels/generic/rope.h"
#include "executors/cpu/kernels/generic/softmax.h"
#include "executors/cpu/kernels/generic/table.h"
#include "executors/cpu/kernels/tables.h"

namespace lathe {

constinit const Kernels kAvx512Kernels = make_table(Isa::avx512);

}  // namespace lathe
