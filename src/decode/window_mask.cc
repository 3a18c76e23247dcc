#include "decode/window_mask.h"

#include <algorithm>

namespace lathe {

WindowMask::WindowMask(const GraphIo& io)
    : window_(io.window),
      slots_(io.window_slots()),
      codes_(io.window_mask.value(), io.tokens_per_call, slots_ + io.tokens_per_call,
             "window_attention_mask") {
  for (int64_t row = 0; row < io.tokens_per_call; ++row) {
    codes_.attend(row, slots_ + std::max<int64_t>(0, row - window_ + 1), slots_ + row + 1);
  }
}

void WindowMask::set_past(int64_t past) noexcept {
  for (int64_t row = 0; row < view().shape[2]; ++row) {
    codes_.mask(row, 0, slots_);
    // Positions of the past that this row attends, at most W - 1 of them: two runs of slots.
    int64_t first = std::max<int64_t>(0, past + row - window_ + 1);
    while (first < past) {
      const int64_t slot = first % window_;
      const int64_t run = std::min(past - first, window_ - slot);
      codes_.attend(row, slot, slot + run);
      first += run;
    }
  }
}

}  // namespace lathe
