#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

void softmax(const uint16_t* x, uint16_t* y, int64_t k, Affine from, float* scratch) noexcept {
  uint16_t largest = 0;
  for (int64_t i = 0; i < k; ++i) largest = x[i] > largest ? x[i] : largest;
  const float maximum = decode(largest, from);
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < k; ++i) scratch[i] = exp_f32(decode(x[i], from) - maximum);
  double lanes[kLanes] = {};
  const int64_t whole = k / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += softmax_term(scratch[i + lane]);
  }
  for (int64_t i = whole; i < k; ++i) lanes[i - whole] += softmax_term(scratch[i]);
  const auto sum = static_cast<float>(add_lanes(lanes));
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < k; ++i) y[i] = encode_probability(scratch[i] / sum);
}

}  // namespace
}  // namespace lathe
