#pragma once

#include <immintrin.h>

#include "executors/cpu/kernels/generic/avx512_sums.h"

namespace lathe {
namespace {

using Line = __m512i;
inline Line weights_of(__m512i bytes) { return bytes; }
using Quad = __m512i;
inline Quad quad_of(__m512i bytes) { return bytes; }

inline Avx512Sums dot(Avx512Sums sums, Quad bytes, Line weights) {
  return (Avx512Sums)_mm512_dpbusd_epi32((__m512i)sums, bytes, weights);
}

}  // namespace
}  // namespace lathe

#include "executors/cpu/kernels/generic/avx512_registers.h"
#include "executors/cpu/kernels/generic/byte_planes.h"
