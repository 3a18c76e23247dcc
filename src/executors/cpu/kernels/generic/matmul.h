#pragma once

#include "executors/cpu/kernels/generic/numeric.h"

// Products of two tensors of codes. Every product and sum is a whole number below 2^53, so float64
// computes it exactly in whatever order.

namespace lathe {
namespace {

/// out[i] = codes[i] - zero_point
template <typename Code>
inline void centre(const Code* codes, int64_t count, int32_t zero_point, double* out) {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(codes[i] - zero_point);
}

inline uint16_t finish_product(double sum, const MatmulArgs& args) {
  const double low = -args.y_zero_point;
  const double high = kCodeMax - args.y_zero_point;
  const double steps = round_even(limit(sum * args.multiplier, low, high));
  return static_cast<uint16_t>(static_cast<int32_t>(steps) + args.y_zero_point);
}

/// a and b [depth], depth a multiple of kLanes.
inline double dot_product(const double* a, const double* b, int64_t depth) {
  double lanes[kLanes] = {};
  for (int64_t i = 0; i < depth; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  return add_lanes(lanes);
}

/// Every column of b is one stretch of memory: dot products.
template <typename Code>
void matmul_by_column(const MatmulArgs& args, const Code* b) {
  const int64_t depth = round_up(args.depth, kLanes);
  double* column = args.scratch;           // [depth], zeros behind args.depth
  double* vectors = args.scratch + depth;  // [heads, rows, depth], likewise
  for (int64_t i = 0; i < (1 + args.heads * args.rows) * depth; ++i) args.scratch[i] = 0.0;
  for (int64_t head = 0; head < args.heads; ++head) {
    for (int64_t row = 0; row < args.rows; ++row) {
      centre(args.a + head * args.a_head_stride + row * args.a_row_stride, args.depth,
             args.a_zero_point, vectors + (head * args.rows + row) * depth);
    }
  }
  for (int64_t n = 0; n < args.columns; ++n) {
    centre(b + n * args.b_stride, args.depth, args.b_zero_point, column);
    for (int64_t head = 0; head < args.heads; ++head) {
      for (int64_t row = 0; row < args.rows; ++row) {
        const double sum = dot_product(vectors + (head * args.rows + row) * depth, column, depth);
        args.y[head * args.y_head_stride + row * args.y_row_stride + n] = finish_product(sum, args);
      }
    }
  }
}

/// sums[n] += the products of kRows rows of b with their factors.
template <int kRows, typename Code>
inline void add_rows(const MatmulArgs& args, const double* factors, const Code* b, double* sums) {
  LATHE_INDEPENDENT_ITERATIONS
  for (int64_t n = 0; n < args.columns; ++n) {
    double sum = sums[n];
    for (int i = 0; i < kRows; ++i) {
      sum += factors[i] * static_cast<double>(b[i * args.b_stride + n] - args.b_zero_point);
    }
    sums[n] = sum;
  }
}

/// Every row of b is one stretch of memory: sums of rows. Where four factors are 0 in a row, as
/// probabilities of masked columns are, b is not read.
template <typename Code>
void matmul_by_row(const MatmulArgs& args, const Code* b) {
  double* sums = args.scratch;  // [columns]
  for (int64_t head = 0; head < args.heads; ++head) {
    for (int64_t row = 0; row < args.rows; ++row) {
      const uint16_t* a = args.a + head * args.a_head_stride + row * args.a_row_stride;
      uint16_t* y = args.y + head * args.y_head_stride + row * args.y_row_stride;
      for (int64_t n = 0; n < args.columns; ++n) sums[n] = 0.0;
      int64_t k = 0;
      for (; k + 4 <= args.depth; k += 4) {
        double factors[4];
        centre(a + k, 4, args.a_zero_point, factors);
        const bool any =
            factors[0] != 0.0 || factors[1] != 0.0 || factors[2] != 0.0 || factors[3] != 0.0;
        if (any) add_rows<4>(args, factors, b + k * args.b_stride, sums);
      }
      for (; k < args.depth; ++k) {
        double factor;
        centre(a + k, 1, args.a_zero_point, &factor);
        add_rows<1>(args, &factor, b + k * args.b_stride, sums);
      }
      LATHE_INDEPENDENT_ITERATIONS
      for (int64_t n = 0; n < args.columns; ++n) y[n] = finish_product(sums[n], args);
    }
  }
}

template <typename Code>
void matmul_of(const MatmulArgs& args, const Code* b) {
  if (args.b_by_column) {
    matmul_by_column(args, b);
  } else {
    matmul_by_row(args, b);
  }
}

void matmul(const MatmulArgs& args) noexcept {
  if (args.b_bytes != nullptr) {
    matmul_of(args, args.b_bytes);
  } else {
    matmul_of(args, args.b);
  }
}

}  // namespace
}  // namespace lathe
