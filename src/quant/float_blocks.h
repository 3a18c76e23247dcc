#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/constant.h"
#include "quant/row_blocks.h"
#include "support/error.h"
#include "support/thread_pool.h"

namespace lathe {

/// A float constant as a matrix of rows.
struct FloatRows {
  int64_t count = 0;
  int64_t width = 0;
};

[[noreturn]] inline void refuse_not_finite(const std::string& where) {
  fail({.what = "a number is NaN or infinite", .where = where});
}

/// Throws Error where the constant has no float data.
inline const FloatSource& floats_of(const Constant& constant) {
  if (constant.floats == nullptr) {
    fail({.what = "a constant without float data cannot be quantized", .where = constant.name});
  }
  return *constant.floats;
}

/// Rows that one thread reads at a time, a multiple of `unit`: about 256 KiB of float32.
inline int64_t float_block_rows(int64_t width, int64_t unit) {
  constexpr int64_t kElements = 1 << 16;
  return std::max<int64_t>(kElements / std::max<int64_t>(width, 1) / unit, 1) * unit;
}

/// Calls body(first row, past-the-end row, numbers) with blocks of rows that cover the constant, on
/// all threads; every block starts on a multiple of `unit` rows. Exceptions pass as for_row_blocks
/// says.
template <typename Body>
void for_float_blocks(const Constant& constant, const FloatRows& rows, int64_t unit,
                      ThreadPool& pool, const Body& body) {
  const FloatSource& source = floats_of(constant);
  const int64_t block = float_block_rows(rows.width, unit);
  for_row_blocks(pool, rows.count, block, [&](int64_t begin, int64_t end) {
    std::vector<float> numbers(static_cast<size_t>((end - begin) * rows.width));
    source.read(begin * rows.width, (end - begin) * rows.width, numbers.data());
    body(begin, end, std::span<const float>(numbers));
  });
}

}  // namespace lathe
