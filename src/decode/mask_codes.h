#pragma once

#include <cstdint>
#include <string>

#include "decode/aligned_buffer.h"
#include "decode/graph_io.h"
#include "support/tensor.h"

namespace lathe {

/// A mask [1, 1, rows, columns] that is given to a graph: real 0 attends; the lowest value that the
/// encoding has masks.
class MaskCodes {
 public:
  /// All columns of all rows masked. Throws Error, naming the mask, where the encoding cannot hide
  /// a token: see kHides in mask_codes.cc.
  MaskCodes(const ValueFormat& format, int64_t rows, int64_t columns, const std::string& name);

  void attend(int64_t row, int64_t begin, int64_t end) noexcept { fill(row, begin, end, attend_); }
  void mask(int64_t row, int64_t begin, int64_t end) noexcept { fill(row, begin, end, masked_); }

  const TensorView& view() const { return view_; }

 private:
  void fill(int64_t row, int64_t begin, int64_t end, int32_t value) noexcept;

  int32_t attend_ = 0;  // as stored: codes, or whole numbers in f32
  int32_t masked_ = 0;
  AlignedBuffer buffer_;
  TensorView view_;
};

}  // namespace lathe
