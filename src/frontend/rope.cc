#include "frontend/rope.h"

#include <cmath>
#include <numbers>

#include "support/error.h"

namespace lathe {
namespace {

float scale_llama3(float frequency, const RopeConfig& rope) {
  const auto factor = static_cast<float>(rope.factor);
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const double wavelength = 2.0 * std::numbers::pi / static_cast<double>(frequency);
  if (wavelength > original / rope.low_freq_factor) return frequency / factor;
  if (wavelength < original / rope.high_freq_factor) return frequency;
  const auto smooth = static_cast<float>((original / wavelength - rope.low_freq_factor) /
                                         (rope.high_freq_factor - rope.low_freq_factor));
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace

std::vector<float> rope_inverse_frequencies(const RopeConfig& rope, int64_t head_dim) {
  std::vector<float> frequencies(static_cast<size_t>(head_dim / 2));  // [head_dim / 2]
  const auto theta = static_cast<float>(rope.theta);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    float frequency = 1.0f / std::pow(theta, exponent);
    switch (rope.kind) {
      case RopeConfig::Kind::standard:
        break;
      case RopeConfig::Kind::linear:
        frequency /= static_cast<float>(rope.factor);
        break;
      case RopeConfig::Kind::llama3:
        frequency = scale_llama3(frequency, rope);
        break;
      case RopeConfig::Kind::dynamic:
      case RopeConfig::Kind::yarn:
      case RopeConfig::Kind::longrope:
        fail({.what = "this kind of rotary position embedding is not supported"});
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

}  // namespace lathe
