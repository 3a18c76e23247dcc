#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quant/weight_format.h"

namespace lathe {

// One output channel of weights [k] to codes: docs/numerics.md, "Encodings".

/// The block factors of i4 weights run from 1 to this.
inline constexpr int32_t kLargestBlockFactor = 16;

/// The scale of a channel: bound / steps, at least `floor`, where `bound` is the largest magnitude
/// that is not clipped and `steps` what stands for it in codes. A channel of zeros takes `floor`,
/// or 1 / steps where that is zero: any scale gives the same codes.
float channel_scale(double bound, int32_t steps, double floor);

/// The factor of a block whose largest magnitude that is not clipped is `bound`:
/// round(bound / 7 / scale of the channel), in 1..16.
uint8_t block_factor(double bound, float scale);

/// Largest magnitude of the channel, or of each of its blocks. Throws Error naming `weight` where a
/// number is NaN or infinite.
std::vector<float> magnitudes(const WeightFormat& format, std::span<const float> weights,
                              const std::string& weight);

/// What decides the scale of a channel.
struct ChannelBounds {
  std::vector<float> magnitudes;  ///< magnitudes()
  double clip = 1.0;              ///< fraction of each of them beyond which weights are clipped
  double floor = 0.0;             ///< smallest scale
};

/// Writes codes [k] and, where the format has blocks, factors [k / block]; gives the scale.
float channel_codes(const WeightFormat& format, std::span<const float> weights,
                    const ChannelBounds& bounds, int8_t* codes, uint8_t* factors);
/// The same for formats without blocks.
float channel_codes(const WeightFormat& format, std::span<const float> weights,
                    const ChannelBounds& bounds, int16_t* codes);

}  // namespace lathe
