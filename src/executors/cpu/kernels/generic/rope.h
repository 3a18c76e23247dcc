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

}  // namespace
}  // namespace lathe
