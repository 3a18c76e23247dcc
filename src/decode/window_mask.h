#pragma once

#include <cstdint>

#include "decode/graph_io.h"
#include "decode/mask_codes.h"
#include "support/tensor.h"

namespace lathe {

/// The mask of the sliding layers of one graph, over the S slots of their rings (slot s holds the
/// latest token of the past whose position is s mod W) and the new tokens behind them. The token at
/// position p attends those at j where p - W < j <= p.
class WindowMask {
 public:
  /// The mask for an empty past; `io` has one. Throws Error where the encoding cannot hide a token.
  explicit WindowMask(const GraphIo& io);

  /// Makes the mask one for `past` tokens before the call, 0 <= past <= CL - AR.
  void set_past(int64_t past) noexcept;

  const TensorView& view() const { return codes_.view(); }  // [1, 1, AR, S + AR]

 private:
  int64_t window_;
  int64_t slots_;
  MaskCodes codes_;
};

}  // namespace lathe
