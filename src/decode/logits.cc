#include "decode/logits.h"

#include <algorithm>
#include <limits>

namespace lathe {
namespace {

/// Two passes, the largest value and then its place, as the compiler vectorizes the first for
/// codes.
template <typename T>
int64_t first_largest(const T* values, int64_t count) {
  T largest = std::numeric_limits<T>::lowest();
  for (int64_t i = 0; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
  const T* place = std::find(values, values + count, largest);
  return place == values + count ? 0 : place - values;
}

template <typename T>
void to_real(const T* codes, const ValueFormat& format, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] =
        static_cast<float>(static_cast<int32_t>(codes[i]) - format.zero_point) * format.scale;
  }
}

}  // namespace

int64_t argmax(const LogitsRow& logits) {
  switch (logits.format.dtype) {
    case DType::u8:
      return first_largest(reinterpret_cast<const uint8_t*>(logits.data), logits.vocab);
    case DType::u16:
      return first_largest(reinterpret_cast<const uint16_t*>(logits.data), logits.vocab);
    default:
      return first_largest(reinterpret_cast<const float*>(logits.data), logits.vocab);
  }
}

void dequantize(const LogitsRow& logits, std::span<float> values) {
  switch (logits.format.dtype) {
    case DType::u8:
      return to_real(reinterpret_cast<const uint8_t*>(logits.data), logits.format, values);
    case DType::u16:
      return to_real(reinterpret_cast<const uint16_t*>(logits.data), logits.format, values);
    default:
      std::copy_n(reinterpret_cast<const float*>(logits.data), values.size(), values.data());
  }
}

}  // namespace lathe
