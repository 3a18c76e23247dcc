#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

namespace lathe {
namespace {

/// One output of the chain. `partner` is the real value that cat(-x2, x1) has at this place. The
/// half that is not negated goes through `rotated` too: where that is the encoding of x, as for a
/// concat it must be, every code comes back as itself.
inline uint16_t rope_element(float x, float partner, float cos, float sin, const RopeEncodings& e) {
  const float rotated = encode_steps(partner, e.rotated, kCodeMax) * e.rotated.scale;
  const float x_cos = encode_steps(x * cos, e.x_cos, kCodeMax) * e.x_cos.scale;
  const float rotated_sin =
      encode_steps(rotated * sin, e.rotated_sin, kCodeMax) * e.rotated_sin.scale;
  return encode_u16(x_cos + rotated_sin, e.y);
}

void rope_half(const RopeArgs& args) noexcept {
  const RopeEncodings e = args.encodings;
  const int64_t half = args.head_dim / 2;
  const uint16_t* cos = args.cos;
  const uint16_t* sin = args.sin;
  for (int64_t head = 0; head < args.heads; ++head) {
    const uint16_t* x = args.x + head * args.x_stride;
    uint16_t* y = args.y + head * args.y_stride;
    LATHE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < half; ++i) {
      const float first = decode(x[i], e.x);
      const float second = decode(x[half + i], e.x);
      y[i] = rope_element(first, -second, decode(cos[i], e.cos), decode(sin[i], e.sin), e);
      y[half + i] = rope_element(second, first, decode(cos[half + i], e.cos),
                                 decode(sin[half + i], e.sin), e);
    }
  }
}

/// The real value of a * b after its rounding to a code.
inline float rounded_product(float a, float b, Affine encoding) {
  return encode_steps(a * b, encoding, kCodeMax) * encoding.scale;
}

/// The code of `real` where u16 codes are wanted; where bytes are, that code as a byte.
inline uint16_t split_rope_code(float real, Affine encoding, Affine, uint16_t) {
  return encode_u16(real, encoding);
}
inline uint8_t split_rope_code(float real, Affine encoding, Affine bytes, uint8_t) {
  const float rounded = encode_steps(real, encoding, kCodeMax) * encoding.scale;
  return static_cast<uint8_t>(encode(rounded, bytes, 255));
}

/// A code of x that does not rotate: the result has the encoding of x, or is a byte.
inline uint16_t passing_code(uint16_t x, const SplitRopeEncodings&, uint16_t) { return x; }
inline uint8_t passing_code(uint16_t x, const SplitRopeEncodings& e, uint8_t) {
  return static_cast<uint8_t>(encode(decode(x, e.x), e.bytes, 255));
}

template <typename Code>
void rope_split_to(const SplitRopeArgs& args, Code* to) {
  const SplitRopeEncodings e = args.encodings;
  const int64_t half = args.rotating / 2;
  const uint16_t* cos = args.cos;
  const uint16_t* sin = args.sin;
  for (int64_t head = 0; head < args.heads; ++head) {
    const uint16_t* x = args.x + head * args.x_stride;
    Code* y = to + head * args.y_stride;
    LATHE_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < half; ++i) {
      const float x1 = decode(x[i], e.x);
      const float x2 = decode(x[half + i], e.x);
      const float c = decode(cos[i], e.cos);
      const float s = decode(sin[i], e.sin);
      const float low = rounded_product(x1, c, e.x1_cos) - rounded_product(x2, s, e.x2_sin);
      const float high = rounded_product(x2, c, e.x2_cos) + rounded_product(x1, s, e.x1_sin);
      y[i] = split_rope_code(low, e.low, e.bytes, Code{});
      y[half + i] = split_rope_code(high, e.high, e.bytes, Code{});
    }
    LATHE_INDEPENDENT_ITERATIONS
    for (int64_t i = args.rotating; i < args.head_dim; ++i) y[i] = passing_code(x[i], e, Code{});
  }
}

void rope_split(const SplitRopeArgs& args) noexcept {
  if (args.bytes != nullptr) {
    rope_split_to(args, args.bytes);
  } else {
    rope_split_to(args, args.y);
  }
}

}  // namespace
}  // namespace lathe
