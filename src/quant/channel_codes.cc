#include "quant/channel_codes.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "graph/encoding.h"
#include "quant/float_blocks.h"
#include "quant/range.h"
#include "quant/round_small.h"

namespace lathe {
namespace {

/// codes[i] = clamp(round(weights[i] / scale), -limit, limit), in float32.
template <typename Code>
void to_codes(float scale, int32_t limit, std::span<const float> weights, Code* codes) {
  const auto bound = static_cast<float>(limit);
  for (size_t i = 0; i < weights.size(); ++i) {
    codes[i] = static_cast<Code>(round_small(std::clamp(weights[i] / scale, -bound, bound)));
  }
}

float largest_of(std::span<const float> weights, const std::string& weight) {
  const Scan found = scan(weights.data(), static_cast<int64_t>(weights.size()));
  if (!found.finite) refuse_not_finite(weight);
  return found.range.max_abs();
}

template <typename Code>
float one_scale(const WeightFormat& format, std::span<const float> weights,
                const ChannelBounds& bounds, Code* codes) {
  const int32_t limit = code_range(format.dtype).high;
  const float scale =
      channel_scale(bounds.clip * double{bounds.magnitudes[0]}, limit, bounds.floor);
  to_codes(scale, limit, weights, codes);
  return scale;
}

}  // namespace

float channel_scale(double bound, int32_t steps, double floor) {
  if (bound == 0.0 && floor == 0.0) return 1.0f / static_cast<float>(steps);
  return std::max(static_cast<float>(std::max(bound / steps, floor)), FLT_MIN);
}

uint8_t block_factor(double bound, float scale) {
  const double block_scale = bound / code_range(DType::i4).high;
  return static_cast<uint8_t>(
      std::clamp(std::nearbyint(block_scale / double{scale}), 1.0, double{kLargestBlockFactor}));
}

std::vector<float> magnitudes(const WeightFormat& format, std::span<const float> weights,
                              const std::string& weight) {
  if (format.block == 0) return {largest_of(weights, weight)};
  const auto block = static_cast<size_t>(format.block);
  std::vector<float> largest;
  for (size_t i = 0; i < weights.size(); i += block) {
    largest.push_back(largest_of(weights.subspan(i, block), weight));
  }
  return largest;
}

float channel_codes(const WeightFormat& format, std::span<const float> weights,
                    const ChannelBounds& bounds, int8_t* codes, uint8_t* factors) {
  if (format.block == 0) return one_scale(format, weights, bounds, codes);
  const int32_t limit = code_range(format.dtype).high;
  const auto block = static_cast<size_t>(format.block);
  const float largest = *std::max_element(bounds.magnitudes.begin(), bounds.magnitudes.end());
  const float scale =
      channel_scale(bounds.clip * double{largest}, limit * kLargestBlockFactor, bounds.floor);
  for (size_t b = 0; b < bounds.magnitudes.size(); ++b) {
    factors[b] = block_factor(bounds.clip * double{bounds.magnitudes[b]}, scale);
    to_codes(static_cast<float>(factors[b]) * scale, limit, weights.subspan(b * block, block),
             codes + b * block);
  }
  return scale;
}

float channel_codes(const WeightFormat& format, std::span<const float> weights,
                    const ChannelBounds& bounds, int16_t* codes) {
  return one_scale(format, weights, bounds, codes);
}

}  // namespace lathe
