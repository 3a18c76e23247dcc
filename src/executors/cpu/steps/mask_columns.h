#pragma once

#include <array>
#include <memory>

#include "executors/cpu/frame.h"

namespace lathe {

/// The columns that a mask leaves to attention, found once for all layers.
struct MaskColumns {
  /// A causal mask has two: the filled part of the cache and the new tokens.
  static constexpr int64_t kMaxRanges = 8;

  std::array<ColumnRange, kMaxRanges> ranges;
  int64_t count = 0;

  int64_t total() const {
    int64_t sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      sum += ranges[static_cast<size_t>(i)].end - ranges[static_cast<size_t>(i)].begin;
    }
    return sum;
  }
};

/// Finds the columns of `mask`, an input u16 [1, 1, rows, context], and leaves them in `columns`,
/// a buffer of one MaskColumns.
std::unique_ptr<Step> make_mask_columns_step(BufferId mask, int64_t rows, int64_t context,
                                             BufferId columns);

}  // namespace lathe
