// Kernels for AVX-VNNI: the dot product of bytes (vpdpbusd) in registers of 256 bits, for
// processors that have it without AVX-512.

#include <immintrin.h>

#include "executors/cpu/kernels/generic/finish_linear.h"
#include "executors/cpu/kernels/generic/registers_256.h"

namespace lathe {
namespace {

// There are 16 registers: a tile takes 12 for its sums.
constexpr int kMaxRows = 3;
template <int kPlanes>
constexpr int kTileGroups = 2 / kPlanes;
constexpr int kUnroll = 2;
/// How far ahead of their use weights are fetched from memory, in bytes.
constexpr int64_t kPrefetch = 4096;

/// See byte_planes.h: 16 codes are a quarter of a run of each plane.
void prepare_activation(const uint16_t* x, int64_t k, uint8_t* prepared) noexcept {
  for (int64_t i = 0; i < round_up(k, 64); i += 16) {
    uint16_t codes[16] = {};
    if (i < k) __builtin_memcpy(codes, x + i, static_cast<size_t>(2 * smaller(16, k - i)));
    uint8_t* to = prepared + i + (i & ~int64_t{63});
    for (int j = 0; j < 16; ++j) {
      to[j] = static_cast<uint8_t>(codes[j] >> 8);
      to[64 + j] = static_cast<uint8_t>(codes[j]);
    }
  }
}

/// 64 bytes of weights: channels 0 to 7 of a group, and 8 to 15.
struct Bytes {
  __m256i half[2];
};
inline Bytes load_bytes(const void* address) {
  const auto* from = static_cast<const __m256i*>(address);
  return {_mm256_load_si256(from), _mm256_load_si256(from + 1)};
}
inline Bytes low_nibbles(const Bytes& line) {
  const __m256i upper = _mm256_set1_epi8(-16);
  return {_mm256_and_si256(_mm256_slli_epi16(line.half[0], 4), upper),
          _mm256_and_si256(_mm256_slli_epi16(line.half[1], 4), upper)};
}
inline Bytes high_nibbles(const Bytes& line) {
  const __m256i upper = _mm256_set1_epi8(-16);
  return {_mm256_and_si256(line.half[0], upper), _mm256_and_si256(line.half[1], upper)};
}
using Line = Bytes;
inline Line weights_of(const Bytes& bytes) { return bytes; }

using Quad = __m256i;
inline Quad load_quad(const uint8_t* bytes) {
  int32_t quad;
  __builtin_memcpy(&quad, bytes, sizeof(quad));
  return _mm256_set1_epi32(quad);
}

/// 16 int32 that wrap around.
struct Sums {
  Packed half[2];
};
inline Sums operator+(const Sums& a, const Sums& b) {
  return {a.half[0] + b.half[0], a.half[1] + b.half[1]};
}
inline Sums operator*(const Sums& a, const Sums& b) {
  return {a.half[0] * b.half[0], a.half[1] * b.half[1]};
}
inline Sums without_sixteen(const Sums& sums) {
  return {(Packed)_mm256_srai_epi32((__m256i)sums.half[0], 4),
          (Packed)_mm256_srai_epi32((__m256i)sums.half[1], 4)};
}
inline Sums dot(const Sums& sums, Quad bytes, const Line& weights) {
  return {(Packed)_mm256_dpbusd_avx_epi32((__m256i)sums.half[0], bytes, weights.half[0]),
          (Packed)_mm256_dpbusd_avx_epi32((__m256i)sums.half[1], bytes, weights.half[1])};
}

/// The factors of 16 channels in one block.
inline Sums load_factors(const uint8_t* nibbles) {
  const __m128i factors = factor_bytes(nibbles);
  return {(Packed)_mm256_cvtepu8_epi32(factors),
          (Packed)_mm256_cvtepu8_epi32(_mm_srli_si128(factors, 8))};
}

/// 16 float64: whole numbers below 2^53, exact in any order.
struct Totals {
  double sums[16];

  void add(const Sums& high, const Sums& low) {
    alignas(32) int32_t high_sums[16];
    alignas(32) int32_t low_sums[16];
    __builtin_memcpy(high_sums, &high, sizeof(high_sums));
    __builtin_memcpy(low_sums, &low, sizeof(low_sums));
    for (int c = 0; c < 16; ++c) sums[c] += high_sums[c] * 256.0 + low_sums[c];
  }
};

inline ChannelGroup channel_group(const LinearArgs& args, int64_t first) {
  return channel_group(args, first, 0);
}
inline void finish_group(const Totals& totals, const ChannelGroup& group, const LinearArgs& args,
                         uint16_t* y) {
  finish_group(totals.sums, group, args, y);
}

void dot_block(const uint8_t* prepared, const int8_t* packed, int64_t depth, int32_t* out) {
  for (int64_t group = 0; group < kBlock; group += 16) {
    Sums high = {};
    Sums low = {};
    for (int64_t i = 0; i < depth; i += 4) {
      const uint8_t* quad = prepared + i + (i & ~int64_t{63});
      const Line weights = load_bytes(packed + i * kBlock + group * 4);
      high = dot(high, load_quad(quad), weights);
      low = dot(low, load_quad(quad + 64), weights);
    }
    for (int half = 0; half < 2; ++half) {
      const Packed sums = high.half[half] * 256 + low.half[half];
      __builtin_memcpy(out + group + half * 8, &sums, sizeof(sums));
    }
  }
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/without_tiles.h"

namespace lathe {

constinit const Kernels kAvxVnniKernels = make_table(Isa::avxvnni);

}  // namespace lathe
