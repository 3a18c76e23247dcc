#include "decode/mask_codes.h"

#include <algorithm>

#include "support/error.h"

namespace lathe {
namespace {

/// exp() of anything below is 0 in float32 (the smallest subnormal is exp(-103.3)), so a masked
/// token gets no weight whatever its score was among scores of a usual size.
constexpr float kHides = -104.0f;

/// A float graph is given what the integer graph's mask means (docs/numerics.md), so that both
/// compute the same function and calibration sees the range that the integers will have. It also
/// stays clear of -inf, which would turn a row without any token into NaN.
constexpr int32_t kFloatMasked = -255;

}  // namespace

MaskCodes::MaskCodes(const ValueFormat& format, int64_t rows, int64_t columns,
                     const std::string& name) {
  if (format.dtype == DType::f32) {
    masked_ = kFloatMasked;
  } else {
    attend_ = format.zero_point;
    masked_ = code_range(format.dtype).low;
    const float lowest = static_cast<float>(masked_ - attend_) * format.scale;
    if (lowest > kHides) {
      fail({.what = "encoding cannot hide a token",
            .where = name,
            .expected = "a lowest value of at most " + std::to_string(kHides),
            .found = std::to_string(lowest),
            .advice = "compile the model again"});
    }
  }
  const Shape shape{1, 1, rows, columns};
  buffer_ = AlignedBuffer(byte_size(format.dtype, shape), "the attention mask");
  view_ = dense_view(format.dtype, shape, buffer_.data());
  for (int64_t row = 0; row < rows; ++row) mask(row, 0, columns);
}

void MaskCodes::fill(int64_t row, int64_t begin, int64_t end, int32_t value) noexcept {
  const int64_t at = row * view_.strides[2];
  const auto fill_as = [&]<typename T>(T* data) {
    std::fill(data + at + begin, data + at + end, static_cast<T>(value));
  };
  switch (view_.dtype) {
    case DType::u8:
      return fill_as(view_.as<uint8_t>());
    case DType::u16:
      return fill_as(view_.as<uint16_t>());
    default:
      return fill_as(view_.as<float>());
  }
}

}  // namespace lathe
