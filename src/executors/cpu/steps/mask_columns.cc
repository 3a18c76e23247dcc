#include "executors/cpu/steps/mask_columns.h"

#include <new>

#include "executors/cpu/steps/body_step.h"

namespace lathe {

std::unique_ptr<Step> make_mask_columns_step(BufferId mask, int64_t rows, int64_t context,
                                             BufferId columns) {
  return make_step("mask_columns", [=](const Frame& frame) noexcept {
    const TensorView& view = frame.inputs[static_cast<size_t>(mask)];
    auto* found = new (frame.at<std::byte>(columns)) MaskColumns;
    found->count = active_columns(view.as<uint16_t>(), rows, view.strides[2], context,
                                  found->ranges.data(), MaskColumns::kMaxRanges);
  });
}

}  // namespace lathe
