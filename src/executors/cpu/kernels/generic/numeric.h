#pragma once

#include <cstdint>

#include "executors/cpu/kernels/arguments.h"

// The headers in this folder are compiled once per instruction set, by the one source file of each
// (portable.cc, avx2.cc, ...), with its flags. Everything is in an anonymous namespace and nothing
// uses templates of the standard library, so that no function compiled for a newer processor can
// be the one that the linker keeps for all.
//
// Loops are written for the compiler to vectorize. Each element sees the same IEEE operations in
// the same order whatever the width, which is what makes results equal on every instruction set:
// no fused multiply-add (-ffp-contract=off), sums in kLanes fixed lanes or of
// numbers whose sum is exact.

#if defined(__clang__)
#define LATHE_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define LATHE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

/// A loop whose `variable` may be reduced in any order: maxima, minima, exact sums.
#define LATHE_PRAGMA(text) _Pragma(#text)
#define LATHE_REDUCTION(operation, variable) LATHE_PRAGMA(omp simd reduction(operation : variable))

namespace lathe {
namespace {

constexpr int32_t kCodeMax = 65535;
constexpr int kLanes = 16;

/// A sum of products of one byte plane of activations grows by at most 255 * 128 per element: this
/// many fit int32.
constexpr int64_t kSafePlaneDepth = 65536;

inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/// Nearest integer, ties to even: adding 1.5 * 2^23 leaves no bits for a fraction. |x| < 2^22.
inline float round_even(float x) { return (x + 12582912.0f) - 12582912.0f; }
/// The same with 1.5 * 2^52. |x| < 2^51.
inline double round_even(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

/// x limited to [low, high]; low for NaN.
template <typename T>
inline T limit(T x, T low, T high) {
  const T raised = x > low ? x : low;
  return raised < high ? raised : high;
}

inline float decode(int32_t code, Affine encoding) {
  return static_cast<float>(code - encoding.zero_point) * encoding.scale;
}

/// The number of steps from the zero point to the code of `real`, that is code - zero_point.
/// Limiting to whole numbers first gives the same as limiting after rounding, and never overflows.
inline float encode_steps(float real, Affine encoding, int32_t code_max) {
  return round_even(limit(real / encoding.scale, static_cast<float>(-encoding.zero_point),
                          static_cast<float>(code_max - encoding.zero_point)));
}

inline int32_t encode(float real, Affine encoding, int32_t code_max) {
  return static_cast<int32_t>(encode_steps(real, encoding, code_max)) + encoding.zero_point;
}

inline uint16_t encode_u16(float real, Affine encoding) {
  return static_cast<uint16_t>(encode(real, encoding, kCodeMax));
}

/// e^x within 2 units in the last place; 0 below -87 (where results leave the normal range), and
/// e^88 above 88. x = n ln 2 + r with |r| <= ln(2) / 2 and n ln 2 subtracted in two parts, the
/// first exact (Cody and Waite); then the Taylor polynomial of degree 7, off by less than 6e-9.
inline float exp_f32(float x) {
  const float limited = limit(x, -87.0f, 88.0f);
  const float n = round_even(limited * 1.44269504f);
  const float r = (limited - n * 0.693359375f) - n * -2.12194440e-4f;
  float tail = 1.0f / 5040.0f;
  tail = tail * r + 1.0f / 720.0f;
  tail = tail * r + 1.0f / 120.0f;
  tail = tail * r + 1.0f / 24.0f;
  tail = tail * r + 1.0f / 6.0f;
  tail = tail * r + 0.5f;
  const float fraction = 1.0f + (r + r * r * tail);
  const float power = __builtin_bit_cast(float, (static_cast<int32_t>(n) + 127) << 23);
  return x < -87.0f ? 0.0f : fraction * power;
}

/// The code of a number in [0, 1] in the fixed encoding of softmax: s = 1/65536, zero point 0.
inline uint16_t encode_probability(float p) {
  const float limited = limit(p * 65536.0f, 0.0f, static_cast<float>(kCodeMax));
  return static_cast<uint16_t>(static_cast<int32_t>(round_even(limited)));
}

inline float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }
inline float silu_f32(float x) { return x / (1.0f + exp_f32(-x)); }

/// Up to 1 the first seven terms of Lambert's continued fraction, x / (1 + x^2 / (3 + x^2 / (5 +
/// ...))), as one quotient: there 1 - 2 / (1 + e^2x) would lose the digits of small numbers.
inline float tanh_f32(float x) {
  const float square = x * x;
  const float above = ((square + 378.0f) * square + 17325.0f) * square + 135135.0f;
  const float below = ((28.0f * square + 3150.0f) * square + 62370.0f) * square + 135135.0f;
  const float far = 1.0f - 2.0f / (1.0f + exp_f32(2.0f * __builtin_fabsf(x)));
  return square <= 1.0f ? x * above / below : __builtin_copysignf(far, x);
}

/// x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3): Hendrycks and Gimpel,
/// "Gaussian Error Linear Units".
inline float gelu_tanh_f32(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return x / (1.0f + exp_f32(-2.0f * u));
}

/// An exponential of softmax, at most 1, to the nearest multiple of 2^-36. Sums of up to 2^17 such
/// terms are exact in float64 in whatever order: prefill and decode have a token in different
/// columns, and must give it the same probabilities. Adding 1.5 * 2^16 leaves no bits below 2^-36.
inline double softmax_term(float exponential) {
  return (static_cast<double>(exponential) + 98304.0) - 98304.0;
}

/// Sum of the kLanes partial sums, always in this order. Overwrites them.
template <typename T>
inline T add_lanes(T* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

}  // namespace
}  // namespace lathe
