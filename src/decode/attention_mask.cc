#include "decode/attention_mask.h"

namespace lathe {

AttentionMask::AttentionMask(const GraphIo& io)
    : codes_(io.mask.value(), io.tokens_per_call, io.context, "attention_mask") {
  const int64_t first_new = io.cache_slots();
  for (int64_t row = 0; row < io.tokens_per_call; ++row) {
    codes_.attend(row, first_new, first_new + row + 1);
  }
}

void AttentionMask::set_past(int64_t past) noexcept {
  for (int64_t row = 0; row < view().shape[2]; ++row) {
    if (past > past_) {
      codes_.attend(row, past_, past);
    } else {
      codes_.mask(row, past, past_);
    }
  }
  past_ = past;
}

}  // namespace lathe
