#include "executors/cpu/steps/row_step.h"

#include <algorithm>
#include <numeric>

namespace lathe {

bool RowStep::gives(const ElementwiseStep::Operand& operand) const {
  return operand.buffer == rows_.y ||
         std::any_of(behind_.begin(), behind_.end(),
                     [&](const auto& step) { return step->result() == operand.buffer; });
}

int64_t RowStep::rows_for(const ElementwiseStep& behind) const {
  return std::lcm(together_, std::lcm(behind.unit(), rows_.width) / rows_.width);
}

bool RowStep::can_end_with(const ElementwiseStep& behind) const {
  const int64_t count = rows_.count * rows_.width;
  if (count == 0 || behind.count() != count || rows_.count % rows_for(behind) != 0) return false;
  bool reads_results = false;
  for (const ElementwiseStep::Operand& operand : behind.operands()) {
    if (!gives(operand)) continue;
    if (operand.offset != 0) return false;
    reads_results = true;
  }
  return reads_results;
}

void RowStep::end_with(std::unique_ptr<ElementwiseStep> behind) {
  name_ += std::string("+") + behind->name();
  together_ = rows_for(*behind);
  behind_.push_back(std::move(behind));
}

void RowStep::run(const Frame& frame) const noexcept {
  const int64_t unit = together_ * rows_.width;
  split_by_member(frame, rows_.count / together_, unit,
                  [&](int member, int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      for (int64_t row = i * together_; row < (i + 1) * together_; ++row) {
                        run_row(frame, row, frame.at<uint16_t>(rows_.y, row * rows_.width), member);
                      }
                      for (const auto& step : behind_) {
                        step->run_range(frame, i * unit, (i + 1) * unit);
                      }
                    }
                  });
}

void RowStep::run_row(const Frame& frame, int64_t row, uint16_t* y, int member) const noexcept {
  body_(*frame.kernels, frame.at<uint16_t>(rows_.x, rows_.offset + row * rows_.width), y,
        frame.at<std::byte>(rows_.scratch, rows_.scratch_bytes * member));
}

}  // namespace lathe
