#include "executors/cpu/steps/row_step.h"

namespace lathe {

void RowStep::run(const Frame& frame) const noexcept {
  split_by_member(frame, rows_.count, rows_.width, [&](int member, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      run_row(frame, row, frame.at<uint16_t>(rows_.y, row * rows_.width), member);
    }
  });
}

void RowStep::run_row(const Frame& frame, int64_t row, uint16_t* y, int member) const noexcept {
  body_(*frame.kernels, frame.at<uint16_t>(rows_.x, rows_.offset + row * rows_.width), y,
        frame.at<std::byte>(rows_.scratch, rows_.scratch_bytes * member));
}

}  // namespace lathe
