#include "decode/attention_mask.h"

#include <algorithm>
#include <string>

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

AttentionMask::AttentionMask(const GraphIo& io) {
  const ValueFormat& format = io.mask;
  if (format.dtype == DType::f32) {
    masked_ = kFloatMasked;
  } else {
    attend_ = format.zero_point;
    masked_ = code_range(format.dtype).low;
    const float lowest = static_cast<float>(masked_ - attend_) * format.scale;
    if (lowest > kHides) {
      fail({.what = "encoding cannot hide a token",
            .where = "attention_mask",
            .expected = "a lowest value of at most " + std::to_string(kHides),
            .found = std::to_string(lowest),
            .advice = "compile the model again"});
    }
  }

  const Shape shape{1, 1, io.tokens_per_call, io.context};
  buffer_ = AlignedBuffer(byte_size(format.dtype, shape), "the attention mask");
  view_ = dense_view(format.dtype, shape, buffer_.data());
  const int64_t first_new = io.cache_slots();
  for (int64_t row = 0; row < io.tokens_per_call; ++row) {
    fill(row, 0, first_new, masked_);
    fill(row, first_new, first_new + row + 1, attend_);
    fill(row, first_new + row + 1, io.context, masked_);
  }
}

void AttentionMask::set_past(int64_t past) noexcept {
  for (int64_t row = 0; row < view_.shape[2]; ++row) {
    if (past > past_) {
      fill(row, past_, past, attend_);
    } else {
      fill(row, past, past_, masked_);
    }
  }
  past_ = past;
}

void AttentionMask::fill(int64_t row, int64_t begin, int64_t end, int32_t value) noexcept {
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
