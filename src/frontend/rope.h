#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/config.h"

namespace lathe {

/// Rotation speeds in radians per position, one per pair of dimensions: [head_dim / 2] float32,
///   inv_freq[i] = theta^(-2i / head_dim)
/// then scaled as the config says. `linear`: divided by `factor`. `llama3`: wavelengths above
/// original / low_freq_factor are stretched by `factor`, those below original / high_freq_factor
/// are kept, those between are blended. Formulas: transformers, modeling_rope_utils. The powers are
/// taken in float32, as there.
std::vector<float> rope_inverse_frequencies(const RopeConfig& rope, int64_t head_dim);

}  // namespace lathe
