#include "checkpoint/widen.h"

#include <cstring>

#include "support/half.h"

namespace lathe {
namespace {

uint16_t load_u16(const std::byte* at) {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

bool is_float_weight(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

void widen(DType dtype, const std::byte* in, std::span<float> out) {
  if (dtype == DType::f32) {
    if (!out.empty()) std::memcpy(out.data(), in, out.size_bytes());
  } else if (dtype == DType::f16) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = f16_to_f32(load_u16(in + 2 * i));
  } else {
    for (size_t i = 0; i < out.size(); ++i) out[i] = bf16_to_f32(load_u16(in + 2 * i));
  }
}

}  // namespace lathe
