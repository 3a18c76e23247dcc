#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

void rms_norm(const uint16_t* x, const float* gamma, uint16_t* y, int64_t k, float epsilon,
              Affine from, Affine to) noexcept {
  float lanes[kLanes] = {};
  const int64_t whole = k / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float value = decode(x[i + lane], from);
      lanes[lane] += value * value;
    }
  }
  for (int64_t i = whole; i < k; ++i) {
    const float value = decode(x[i], from);
    lanes[i - whole] += value * value;
  }
  const float mean = add_lanes(lanes) / static_cast<float>(k);
  const float inverse = 1.0f / __builtin_sqrtf(mean + epsilon);
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < k; ++i) {
    y[i] = encode_u16(gamma[i] * (decode(x[i], from) * inverse), to);
  }
}

}  // namespace
}  // namespace lathe
