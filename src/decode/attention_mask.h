#pragma once

#include <cstdint>

#include "decode/aligned_buffer.h"
#include "decode/graph_io.h"
#include "support/tensor.h"

namespace lathe {

/// The causal attention mask of one graph. Row i attends the past, columns [0, past), and the new
/// tokens up to itself, columns [CL - AR, CL - AR + i]. Real 0 attends; the lowest value that the
/// encoding has masks.
class AttentionMask {
 public:
  /// The mask for an empty past. Throws Error where the encoding cannot hide a token: see
  /// kHides in attention_mask.cc.
  explicit AttentionMask(const GraphIo& io);

  /// Makes the mask one for `past` tokens in the cache, 0 <= past <= CL - AR. Writes only the
  /// columns that change.
  void set_past(int64_t past) noexcept;

  const TensorView& view() const { return view_; }  // [1, 1, AR, CL]

 private:
  void fill(int64_t row, int64_t begin, int64_t end, int32_t value) noexcept;

  int32_t attend_ = 0;  // as stored: codes, or whole numbers in f32
  int32_t masked_ = 0;
  int64_t past_ = 0;
  AlignedBuffer buffer_;
  TensorView view_;
};

}  // namespace lathe
