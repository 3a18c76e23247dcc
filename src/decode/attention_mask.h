#pragma once

#include <cstdint>

#include "decode/graph_io.h"
#include "decode/mask_codes.h"
#include "support/tensor.h"

namespace lathe {

/// The causal attention mask of one graph. Row i attends the past, columns [0, past), and the new
/// tokens up to itself, columns [CL - AR, CL - AR + i].
class AttentionMask {
 public:
  /// The mask for an empty past; `io` has one. Throws Error where the encoding cannot hide a token.
  explicit AttentionMask(const GraphIo& io);

  /// Makes the mask one for `past` tokens in the cache, 0 <= past <= CL - AR. Writes only the
  /// columns that change.
  void set_past(int64_t past) noexcept;

  const TensorView& view() const { return codes_.view(); }  // [1, 1, AR, CL]

 private:
  int64_t past_ = 0;
  MaskCodes codes_;
};

}  // namespace lathe
