#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/config.h"

namespace lathe {

/// Rotation speeds in radians per position, one per pair of the `rotary_dim` values that rotate:
/// [rotary_dim / 2] float32,
///   inv_freq[i] = theta^(-2i / rotary_dim)
/// then scaled as the config says, for texts of up to `context` positions:
/// - linear: divided by `factor`.
/// - llama3: wavelengths above original / low_freq_factor are stretched by `factor`, those below
///   original / high_freq_factor are kept, those between are blended.
/// - dynamic (NTK): theta grows with the context, from the original one on.
/// - yarn: divided by `factor` where a pair turns less than beta_slow times over the original
///   positions, kept where it turns more than beta_fast times, blended between.
/// - longrope: divided by short_factor[i], by long_factor[i] where the context is longer than the
///   original one.
/// Formulas: transformers, modeling_rope_utils. The powers are taken in float32, as there.
std::vector<float> rope_inverse_frequencies(const RopeConfig& rope, int64_t rotary_dim,
                                            int64_t context);

}  // namespace lathe
