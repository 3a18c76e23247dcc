#include "quant/range.h"

#include <bit>
#include <cstddef>

namespace lathe {

Scan scan(const float* numbers, int64_t count) {
  // Independent lanes: a comparison per lane has one order of evaluation, so compilers may use
  // vector registers without changing a result.
  constexpr int64_t kLanes = 16;
  constexpr uint32_t kMagnitude = 0x7FFFFFFFu;
  constexpr int32_t kInfinity = 0x7F800000;
  float low[kLanes];
  float high[kLanes];
  int32_t largest[kLanes] = {};  // magnitude bits: ordered as the numbers are, NaN above infinity
  std::fill_n(low, kLanes, ValueRange{}.low);
  std::fill_n(high, kLanes, ValueRange{}.high);

  const auto take = [&](float x, int64_t lane) {
    const auto bits = static_cast<int32_t>(std::bit_cast<uint32_t>(x) & kMagnitude);
    low[lane] = x < low[lane] ? x : low[lane];
    high[lane] = x > high[lane] ? x : high[lane];
    largest[lane] = bits > largest[lane] ? bits : largest[lane];
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) take(numbers[i + lane], lane);
  }
  for (; i < count; ++i) take(numbers[i], i % kLanes);

  Scan result;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    result.range.include({low[lane], high[lane]});
    if (largest[lane] >= kInfinity) result.finite = false;
  }
  return result;
}

}  // namespace lathe
