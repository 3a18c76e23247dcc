#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// log2(k) rounds of sums and differences (fast Walsh-Hadamard transform).
void hadamard(const uint16_t* x, uint16_t* y, int64_t k, Affine from, Affine to,
              float* scratch) noexcept {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < k; ++i) scratch[i] = decode(x[i], from);
  for (int64_t half = 1; half < k; half *= 2) {
    for (int64_t first = 0; first < k; first += 2 * half) {
      float* left = scratch + first;
      float* right = left + half;
      LATHE_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < half; ++i) {
        const float a = left[i];
        const float b = right[i];
        left[i] = a + b;
        right[i] = a - b;
      }
    }
  }
  const float scale = 1.0f / __builtin_sqrtf(static_cast<float>(k));
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < k; ++i) y[i] = encode_u16(scratch[i] * scale, to);
}

}  // namespace
}  // namespace lathe
