#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

void add(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
         const BinaryEncodings& encodings) noexcept {
  const BinaryEncodings e = encodings;
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) {
    y[i] = encode_u16(decode(a[i], e.a) + decode(b[i], e.b), e.y);
  }
}

void sub(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
         const BinaryEncodings& encodings) noexcept {
  const BinaryEncodings e = encodings;
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) {
    y[i] = encode_u16(decode(a[i], e.a) - decode(b[i], e.b), e.y);
  }
}

void mul(const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t count,
         const BinaryEncodings& encodings) noexcept {
  const BinaryEncodings e = encodings;
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) {
    y[i] = encode_u16(decode(a[i], e.a) * decode(b[i], e.b), e.y);
  }
}

void add_scalar(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                Affine to) noexcept {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) y[i] = encode_u16(decode(x[i], from) + scalar, to);
}

void mul_scalar(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                Affine to) noexcept {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) y[i] = encode_u16(decode(x[i], from) * scalar, to);
}

void div_scalar(const uint16_t* x, float scalar, uint16_t* y, int64_t count, Affine from,
                Affine to) noexcept {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) y[i] = encode_u16(decode(x[i], from) / scalar, to);
}

inline float negated_f32(float x) { return -x; }

/// y = f(x), element by element.
template <float (*kFunction)(float)>
void unary(const uint16_t* x, uint16_t* y, int64_t count, Affine from, Affine to) noexcept {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) y[i] = encode_u16(kFunction(decode(x[i], from)), to);
}

/// y = f(gate) * up.
template <float (*kActivation)(float)>
void gated(const uint16_t* gate, const uint16_t* up, uint16_t* y, int64_t count,
           const GatedEncodings& encodings) noexcept {
  const GatedEncodings e = encodings;
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) {
    const float steps = encode_steps(kActivation(decode(gate[i], e.gate)), e.activated, kCodeMax);
    y[i] = encode_u16(steps * e.activated.scale * decode(up[i], e.up), e.y);
  }
}

template <typename From, typename To>
void requantize(const From* x, To* y, int64_t count, Affine from, Affine to) noexcept {
  constexpr int32_t kMax = static_cast<To>(-1);
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<To>(encode(decode(x[i], from), to, kMax));
  }
}

void dequantize_u16(const uint16_t* x, float* y, int64_t count, Affine from) noexcept {
  for (int64_t i = 0; i < count; ++i) y[i] = decode(x[i], from);
}

int64_t argmax(const uint16_t* x, int64_t count) noexcept {
  uint16_t largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  int64_t at = 0;
  while (x[at] != largest) ++at;
  return at;
}

}  // namespace
}  // namespace lathe
