#include "quant/encodings.h"

#include <algorithm>
#include <cmath>

#include "quant/round_small.h"
#include "support/error.h"

namespace lathe {
namespace {

constexpr double kSmallestSpan = 1e-4;
// Half of what int32 holds, so that rounding a scale to float32 cannot push a bias over the edge.
constexpr double kLargestBiasCode = 1 << 30;

void require_range(const ValueRange& range, std::string_view value) {
  if (range.empty()) {
    fail({.what = "no number was seen in calibration, so there is no range to quantize over",
          .where = std::string(value)});
  }
  if (!std::isfinite(range.low) || !std::isfinite(range.high)) {
    fail({.what = "the range is not finite",
          .where = std::string(value),
          .found = std::to_string(range.low) + " to " + std::to_string(range.high)});
  }
}

template <typename Code>
void quantize_tensor(const Encoding& encoding, std::span<const float> numbers, Code* codes) {
  const CodeRange limits = code_range(encoding.dtype);
  const float scale = encoding.scale.at(0);
  const auto low = static_cast<float>(limits.low - encoding.zero_point);
  const auto high = static_cast<float>(limits.high - encoding.zero_point);
  for (size_t i = 0; i < numbers.size(); ++i) {
    // The limits are integers: clamping first gives what clamping last would.
    const float steps = round_small(std::clamp(numbers[i] / scale, low, high));
    codes[i] = static_cast<Code>(static_cast<int32_t>(steps) + encoding.zero_point);
  }
}

}  // namespace

ValueRange with_headroom(const ValueRange& seen, int percent) {
  const float factor = static_cast<float>(100 + percent) / 100.0f;
  return {seen.low * factor, seen.high * factor};
}

Encoding affine_encoding(DType dtype, const ValueRange& range, std::string_view value) {
  require_range(range, value);
  const CodeRange codes = code_range(dtype);
  const double low = std::min(0.0, static_cast<double>(range.low));
  const double high = std::max(0.0, static_cast<double>(range.high));
  const double scale = std::max(high - low, kSmallestSpan) / codes.high;
  const double zero =
      std::clamp(std::nearbyint(-low / scale), 0.0, static_cast<double>(codes.high));
  return {dtype, {static_cast<float>(scale)}, static_cast<int32_t>(zero), -1};
}

Encoding symmetric_encoding(DType dtype, const ValueRange& range, std::string_view value) {
  require_range(range, value);
  const int32_t steps = code_range(dtype).high;
  const double max_abs = std::max(std::fabs(double{range.low}), std::fabs(double{range.high}));
  const double scale = std::max(max_abs / (steps / 2.0), kSmallestSpan / steps);
  return {dtype, {static_cast<float>(scale)}, (steps + 1) / 2, -1};
}

Encoding activation_encoding(const QuantSpec& spec, const ValueRange& range,
                             std::string_view value) {
  return spec.scheme == Scheme::symmetric ? symmetric_encoding(spec.dtype, range, value)
                                          : affine_encoding(spec.dtype, range, value);
}

double bias_scale_floor(float bias, float input_scale) {
  return std::fabs(double{bias}) / (double{input_scale} * kLargestBiasCode);
}

Encoding bias_encoding(const Encoding& input, const Encoding& weight) {
  Encoding encoding{DType::i32, weight.scale, 0, 0};
  for (float& scale : encoding.scale) {
    scale = static_cast<float>(double{input.scale.at(0)} * double{scale});
  }
  return encoding;
}

void to_codes(const Encoding& encoding, std::span<const float> numbers, uint16_t* codes) {
  quantize_tensor(encoding, numbers, codes);
}

void to_codes(const Encoding& encoding, std::span<const float> numbers, uint8_t* codes) {
  quantize_tensor(encoding, numbers, codes);
}

int32_t bias_code(float bias, float input_scale, float weight_scale) {
  return static_cast<int32_t>(
      std::nearbyint(double{bias} / (double{input_scale} * double{weight_scale})));
}

}  // namespace lathe
