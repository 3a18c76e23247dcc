#include "limits/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace lathe::bench {
namespace {

/// Sums that do not wait for each other: enough to hide how long one product takes.
constexpr int kChains = 16;

#if defined(__x86_64__)

/// An addition takes one cycle, and there are but 16 registers.
constexpr int kAvx2Chains = 8;
/// A dot product takes four, and two may begin in each.
constexpr int kAvxVnniChains = 12;

#define LATHE_AVX2 __attribute__((target("avx2")))
#define LATHE_AVXVNNI __attribute__((target("avx2,avxvnni")))
#define LATHE_AVX512BW __attribute__((target("avx512f,avx512bw")))
#define LATHE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vnni")))

LATHE_AVX2 inline __m256i load_avx2(const uint8_t* from) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
}

/// 16 weights, widened to 16 bits.
LATHE_AVX2 inline __m256i widen_avx2(const uint8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(from)));
}

/// 8 int32 sums. Not __m256i, which is a vector of 64-bit numbers: through the change of type GCC
/// keeps two registers for each sum and spills.
using Sums8 = uint32_t __attribute__((vector_size(32)));

template <bool kFromL1>
LATHE_AVX2 int32_t multiply_avx2(const uint8_t* operands, int64_t steps) {
  constexpr int64_t kStepBytes = 16 * kAvx2Chains;
  Sums8 sums[kAvx2Chains];
  for (int j = 0; j < kAvx2Chains; ++j) sums[j] = (Sums8)load_avx2(operands + j * 32);
  const __m256i activations = load_avx2(operands);
  __m256i weights = load_avx2(operands + 32);
  int64_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int j = 0; j < kAvx2Chains; ++j) {
      if constexpr (kFromL1) {
        weights = widen_avx2(operands + at + j * 16);
      } else {
        // Unknown to the compiler, or it would multiply once for all steps.
        __asm__ volatile("" : "+x"(weights));
      }
      sums[j] += (Sums8)_mm256_madd_epi16(weights, activations);
    }
    at = at + 2 * kStepBytes <= kOperandBytes ? at + kStepBytes : 0;
  }
  Sums8 total = sums[0];
  for (int j = 1; j < kAvx2Chains; ++j) total ^= sums[j];
  return static_cast<int32_t>(total[0]);
}

template <bool kFromL1>
LATHE_AVXVNNI int32_t multiply_avxvnni(const uint8_t* operands, int64_t steps) {
  constexpr int64_t kStepBytes = 32 * kAvxVnniChains;
  Sums8 sums[kAvxVnniChains];
  for (int j = 0; j < kAvxVnniChains; ++j) sums[j] = (Sums8)load_avx2(operands + j * 32);
  const __m256i activations = load_avx2(operands);
  __m256i weights = load_avx2(operands + 32);
  int64_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int j = 0; j < kAvxVnniChains; ++j) {
      if constexpr (kFromL1) weights = load_avx2(operands + at + j * 32);
      sums[j] = (Sums8)_mm256_dpbusd_avx_epi32((__m256i)sums[j], activations, weights);
    }
    at = at + 2 * kStepBytes <= kOperandBytes ? at + kStepBytes : 0;
  }
  Sums8 total = sums[0];
  for (int j = 1; j < kAvxVnniChains; ++j) total ^= sums[j];
  return static_cast<int32_t>(total[0]);
}

LATHE_AVX2 int32_t read_avx2(const uint8_t* begin, int64_t bytes, int64_t ahead) {
  __m256i sums[8] = {};
  for (int64_t i = 0; i < bytes; i += 256) {
    for (int64_t line = i; line < i + 256; line += 64) {
      _mm_prefetch(reinterpret_cast<const char*>(begin + line + ahead), _MM_HINT_T0);
    }
    for (int j = 0; j < 8; ++j) {
      sums[j] = _mm256_xor_si256(sums[j], load_avx2(begin + i + j * 32));
    }
  }
  __m256i total = sums[0];
  for (int j = 1; j < 8; ++j) total = _mm256_xor_si256(total, sums[j]);
  return _mm256_extract_epi32(total, 0);
}

LATHE_AVX512BW inline int32_t first_of(__m512i x) {
  alignas(64) int32_t numbers[16];
  _mm512_store_si512(numbers, x);
  return numbers[0];
}

LATHE_AVX512BW inline __m512i load_avx512(const uint8_t* from) { return _mm512_load_si512(from); }

/// 16 int32 sums; see Sums8.
using Sums16 = uint32_t __attribute__((vector_size(64)));

template <bool kFromL1>
LATHE_AVX512BW int32_t multiply_avx512bw(const uint8_t* operands, int64_t steps) {
  constexpr int64_t kStepBytes = 32 * kChains;
  Sums16 sums[kChains];
  for (int j = 0; j < kChains; ++j) sums[j] = (Sums16)load_avx512(operands + j * 64);
  const __m512i activations = load_avx512(operands);
  __m512i weights = load_avx512(operands + 64);
  int64_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int j = 0; j < kChains; ++j) {
      if constexpr (kFromL1) {
        weights = _mm512_cvtepi8_epi16(load_avx2(operands + at + j * 32));
      } else {
        // Unknown to the compiler, or it would multiply once for all steps.
        __asm__ volatile("" : "+v"(weights));
      }
      sums[j] += (Sums16)_mm512_madd_epi16(weights, activations);
    }
    at = at + 2 * kStepBytes <= kOperandBytes ? at + kStepBytes : 0;
  }
  Sums16 total = sums[0];
  for (int j = 1; j < kChains; ++j) total ^= sums[j];
  return static_cast<int32_t>(total[0]);
}

template <bool kFromL1>
LATHE_AVX512 int32_t multiply_avx512(const uint8_t* operands, int64_t steps) {
  constexpr int64_t kStepBytes = 64 * kChains;
  __m512i sums[kChains];
  for (int j = 0; j < kChains; ++j) sums[j] = load_avx512(operands + j * 64);
  const __m512i activations = load_avx512(operands);
  __m512i weights = load_avx512(operands + 64);
  int64_t at = 0;
  for (int64_t step = 0; step < steps; ++step) {
    for (int j = 0; j < kChains; ++j) {
      if constexpr (kFromL1) weights = load_avx512(operands + at + j * 64);
      sums[j] = _mm512_dpbusd_epi32(sums[j], activations, weights);
    }
    at = at + 2 * kStepBytes <= kOperandBytes ? at + kStepBytes : 0;
  }
  __m512i total = sums[0];
  for (int j = 1; j < kChains; ++j) total = _mm512_xor_si512(total, sums[j]);
  return first_of(total);
}

/// Products of a tile of 16 rows by 64 bytes with one of 64 by 16.
constexpr int64_t kTileProducts = 16 * 16 * 64;
constexpr int64_t kTileBytes = 1024;

/// Four tiles of sums, as the kernels have them for one plane of bytes.
template <bool kFromL1>
int32_t multiply_amx(const uint8_t* operands, int64_t steps) {
  struct alignas(64) Configuration {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } configuration;
  for (int tile = 0; tile < 8; ++tile) {
    configuration.row_bytes[tile] = 64;
    configuration.rows[tile] = 16;
  }
  const int64_t stride = 64;
  __asm__ volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
      "tileloadd (%1,%2,1), %%tmm4\n\ttileloadd (%1,%2,1), %%tmm5\n\t"
      "tileloadd (%1,%2,1), %%tmm6\n\ttileloadd (%1,%2,1), %%tmm7"
      :
      : "m"(configuration), "r"(operands), "r"(stride)
      : "memory");
  for (int64_t step = 0; step < steps; ++step) {
    const uint8_t* at = operands + (step & 3) * 4 * kTileBytes;
    if constexpr (kFromL1) {
      __asm__ volatile(
          "tileloadd (%0,%4,1), %%tmm4\n\ttileloadd (%1,%4,1), %%tmm6\n\t"
          "tileloadd (%2,%4,1), %%tmm7\n\ttileloadd (%3,%4,1), %%tmm5"
          :
          : "r"(at), "r"(at + kTileBytes), "r"(at + 2 * kTileBytes), "r"(at + 3 * kTileBytes),
            "r"(stride)
          : "memory");
    }
    __asm__ volatile(
        "tdpbusd %%tmm6, %%tmm4, %%tmm0\n\ttdpbusd %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbusd %%tmm6, %%tmm5, %%tmm2\n\ttdpbusd %%tmm7, %%tmm5, %%tmm3" ::);
  }
  alignas(64) int32_t sums[256];
  __asm__ volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease"
                   :
                   : "r"(sums), "r"(stride)
                   : "memory");
  return sums[0];
}

LATHE_AVX512BW int32_t read_avx512(const uint8_t* begin, int64_t bytes, int64_t ahead) {
  __m512i sums[4] = {};
  for (int64_t i = 0; i < bytes; i += 256) {
    for (int j = 0; j < 4; ++j) {
      const uint8_t* line = begin + i + j * 64;
      _mm_prefetch(reinterpret_cast<const char*>(line + ahead), _MM_HINT_T0);
      sums[j] = _mm512_xor_si512(sums[j], load_avx512(line));
    }
  }
  const __m512i total =
      _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
  return first_of(total);
}

#elif defined(__aarch64__)

#define LATHE_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#define LATHE_I8MM __attribute__((target("arch=armv8.2-a+dotprod+i8mm")))

LATHE_DOTPROD inline int32x4_t dot_of_signed(int32x4_t sum, int8x16_t weights, uint8x16_t x) {
  return vdotq_s32(sum, weights, vreinterpretq_s8_u8(x));
}

/// Two rows by eight times two columns by eight.
LATHE_I8MM inline int32x4_t matrix_of_mixed(int32x4_t sum, int8x16_t weights, uint8x16_t x) {
  return vusmmlaq_s32(sum, x, weights);
}

// The loops of both sets: they differ in the product alone, and a function cannot be handed one
// that is built for other instructions.
#define LATHE_NEON_MULTIPLY(NAME, TARGET, DOT)                             \
  template <bool kFromL1>                                                  \
  TARGET int32_t NAME(const uint8_t* operands, int64_t steps) {            \
    constexpr int64_t kStepBytes = 16 * kChains;                           \
    int32x4_t sums[kChains];                                               \
    for (int j = 0; j < kChains; ++j) {                                    \
      sums[j] = vreinterpretq_s32_u8(vld1q_u8(operands + j * 16));         \
    }                                                                      \
    const uint8x16_t activations = vld1q_u8(operands);                     \
    int8x16_t weights = vreinterpretq_s8_u8(vld1q_u8(operands + 16));      \
    int64_t at = 0;                                                        \
    for (int64_t step = 0; step < steps; ++step) {                         \
      for (int j = 0; j < kChains; ++j) {                                  \
        if constexpr (kFromL1) {                                           \
          weights = vreinterpretq_s8_u8(vld1q_u8(operands + at + j * 16)); \
        }                                                                  \
        sums[j] = DOT(sums[j], weights, activations);                      \
      }                                                                    \
      at = at + 2 * kStepBytes <= kOperandBytes ? at + kStepBytes : 0;     \
    }                                                                      \
    int32x4_t total = sums[0];                                             \
    for (int j = 1; j < kChains; ++j) total = veorq_s32(total, sums[j]);   \
    return vaddvq_s32(total);                                              \
  }

LATHE_NEON_MULTIPLY(multiply_dotprod, LATHE_DOTPROD, dot_of_signed)
LATHE_NEON_MULTIPLY(multiply_i8mm, LATHE_I8MM, matrix_of_mixed)

int32_t read_neon(const uint8_t* begin, int64_t bytes, int64_t ahead) {
  uint8x16_t sums[16];
  for (uint8x16_t& sum : sums) sum = vdupq_n_u8(0);
  for (int64_t i = 0; i < bytes; i += 256) {
    for (int64_t line = i; line < i + 256; line += 64) __builtin_prefetch(begin + line + ahead);
    for (int j = 0; j < 16; ++j) sums[j] = veorq_u8(sums[j], vld1q_u8(begin + i + j * 16));
  }
  uint8x16_t total = sums[0];
  for (int j = 1; j < 16; ++j) total = veorq_u8(total, sums[j]);
  return vaddvq_u8(total);
}

#endif

}  // namespace

std::optional<Loops> loops_for(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    // Of 16-bit numbers, activations and widened weights: each counts as two of bytes.
    case Isa::avx2:
      return Loops{"vpmaddwd", kAvx2Chains * 32, multiply_avx2<false>, multiply_avx2<true>,
                   read_avx2};
    case Isa::avxvnni:
      return Loops{"vpdpbusd", kAvxVnniChains * 32, multiply_avxvnni<false>, multiply_avxvnni<true>,
                   read_avx2};
    case Isa::avx512bw:
      return Loops{"vpmaddwd", kChains * 64, multiply_avx512bw<false>, multiply_avx512bw<true>,
                   read_avx512};
    case Isa::amx:
      return Loops{"tdpbusd", 4 * kTileProducts, multiply_amx<false>, multiply_amx<true>,
                   read_avx512};
    case Isa::avx512:
      return Loops{"vpdpbusd", kChains * 64, multiply_avx512<false>, multiply_avx512<true>,
                   read_avx512};
#elif defined(__aarch64__)
    case Isa::neon_dotprod:
      return Loops{"sdot", kChains * 16, multiply_dotprod<false>, multiply_dotprod<true>,
                   read_neon};
    case Isa::neon_i8mm:
      return Loops{"usmmla", kChains * 32, multiply_i8mm<false>, multiply_i8mm<true>, read_neon};
#endif
    default:
      return std::nullopt;
  }
}

}  // namespace lathe::bench
