#include "executors/cpu/kernels/kernels.h"

namespace lathe {
namespace {

/// Reading this many masked columns costs less than starting another block of keys.
constexpr int64_t kShortGap = 32;

bool is_active(const uint16_t* mask, int64_t rows, int64_t stride, int64_t column) {
  // The last row of a causal mask sees the most.
  for (int64_t row = rows - 1; row >= 0; --row) {
    if (mask[row * stride + column] != 0) return true;
  }
  return false;
}

}  // namespace

int64_t active_columns(const uint16_t* mask, int64_t rows, int64_t stride, int64_t columns,
                       ColumnRange* ranges, int64_t capacity) {
  int64_t count = 0;
  for (int64_t column = 0; column < columns; ++column) {
    if (!is_active(mask, rows, stride, column)) continue;
    const bool joins =
        count > 0 && (column - ranges[count - 1].end <= kShortGap || count == capacity);
    if (joins) {
      ranges[count - 1].end = column + 1;
    } else {
      ranges[count++] = {column, column + 1};
    }
  }
  return count;
}

}  // namespace lathe
