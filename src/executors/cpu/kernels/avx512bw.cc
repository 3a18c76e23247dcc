// Kernels for AVX-512 without VNNI: bytes are multiplied as 16-bit numbers (vpmaddwd), the even and
// the odd ones of every register apart. The byte instruction (vpmaddubsw) saturates.

#include <immintrin.h>

#include "executors/cpu/kernels/generic/avx512_sums.h"

namespace lathe {
namespace {

/// Bytes 0, 2, ... and bytes 1, 3, ... as 16-bit numbers, signed.
struct Line {
  __m512i even;
  __m512i odd;
};
inline Line weights_of(__m512i bytes) {
  return {_mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8), _mm512_srai_epi16(bytes, 8)};
}

/// The same, unsigned.
struct Quad {
  __m512i even;
  __m512i odd;
};
inline Quad quad_of(__m512i bytes) {
  return {_mm512_and_si512(bytes, _mm512_set1_epi16(255)), _mm512_srli_epi16(bytes, 8)};
}

inline Avx512Sums dot(Avx512Sums sums, const Quad& bytes, const Line& weights) {
  return sums + (Avx512Sums)_mm512_madd_epi16(bytes.even, weights.even) +
         (Avx512Sums)_mm512_madd_epi16(bytes.odd, weights.odd);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/avx512_registers.h"
#include "executors/cpu/kernels/generic/without_tiles.h"

namespace lathe {

constinit const Kernels kAvx512bwKernels = make_table(Isa::avx512bw);

}  // namespace lathe
