#include "frontend/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lathe {
namespace {

/// theta^(2i / rotary_dim)
float power(double theta, size_t i, int64_t rotary_dim) {
  const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotary_dim);
  return std::pow(static_cast<float>(theta), exponent);
}

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

double dynamic_theta(const RopeConfig& rope, int64_t rotary_dim, int64_t context) {
  const auto original = static_cast<double>(rope.original_max_position_embeddings);
  const double length = std::max(static_cast<double>(context), original);
  const auto dim = static_cast<double>(rotary_dim);
  const double growth = rope.factor * length / original - (rope.factor - 1.0);
  return rope.theta * std::pow(growth, dim / (dim - 2.0));
}

/// Which pairs yarn keeps and which it stretches: 1 at pair i to the left of the ramp, 0 behind it.
class YarnRamp {
 public:
  YarnRamp(const RopeConfig& rope, int64_t rotary_dim) {
    const auto dim = static_cast<double>(rotary_dim);
    // The pair that turns `turns` times over the original positions.
    const auto pair_of = [&](double turns) {
      const auto original = static_cast<double>(rope.original_max_position_embeddings);
      return dim * std::log(original / (turns * 2.0 * std::numbers::pi)) /
             (2.0 * std::log(rope.theta));
    };
    low_ = pair_of(rope.beta_fast);
    high_ = pair_of(rope.beta_slow);
    if (rope.truncate) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, dim - 1.0);
    if (low_ == high_) high_ += 0.001;
  }

  float kept(size_t pair) const {
    const auto along = static_cast<float>((static_cast<double>(pair) - low_) / (high_ - low_));
    return 1.0f - std::clamp(along, 0.0f, 1.0f);
  }

 private:
  double low_ = 0.0;
  double high_ = 0.0;
};

}  // namespace

std::vector<float> rope_inverse_frequencies(const RopeConfig& rope, int64_t rotary_dim,
                                            int64_t context) {
  using Kind = RopeConfig::Kind;
  std::vector<float> frequencies(static_cast<size_t>(rotary_dim / 2));
  const double theta =
      rope.kind == Kind::dynamic ? dynamic_theta(rope, rotary_dim, context) : rope.theta;
  const bool is_long = context > rope.original_max_position_embeddings;
  const std::vector<double>& factors = is_long ? rope.long_factor : rope.short_factor;
  const auto factor = static_cast<float>(rope.factor);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float base = power(theta, i, rotary_dim);
    float frequency = 1.0f / base;
    switch (rope.kind) {
      case Kind::standard:
      case Kind::dynamic:
        break;
      case Kind::linear:
        frequency /= factor;
        break;
      case Kind::llama3:
        frequency = scale_llama3(frequency, rope);
        break;
      case Kind::yarn: {
        const float kept = YarnRamp(rope, rotary_dim).kept(i);
        frequency = 1.0f / (factor * base) * (1.0f - kept) + frequency * kept;
        break;
      }
      case Kind::longrope:
        frequency = 1.0f / (static_cast<float>(factors.at(i)) * base);
        break;
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

}  // namespace lathe
