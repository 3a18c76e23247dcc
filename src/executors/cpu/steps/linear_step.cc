#include "executors/cpu/steps/linear_step.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/packed_weights.h"

namespace lathe {
void LinearStep::add(Output output) {
  Part& part = parts_.emplace_back();
  part.channels = output.channels;
  part.groups = (output.channels + kPackedChannels - 1) / kPackedChannels;
  part.group_bytes = output.int4
                         ? output.int4->group_bytes
                         : static_cast<int64_t>(packed_weights_bytes(kPackedChannels, input_.k));
  groups_ += part.groups;
  weight_bytes_ += part.groups * part.group_bytes;
  part.outputs.push_back(std::move(output));
}

bool LinearStep::can_begin_with(const RowStep& before) const {
  const RowStep::Rows& rows = before.rows();
  return before_ == nullptr && !input_.bytes && input_.buffer == rows.y && input_.offset == 0 &&
         input_.rows == rows.count && input_.k == rows.width && input_.row_stride == rows.width;
}

void LinearStep::begin_with(std::unique_ptr<RowStep> before, BufferId codes) {
  name_ = std::string(before->name()) + "+" + name_;
  before_ = std::move(before);
  row_codes_ = codes;
}

int64_t LinearStep::row_codes_bytes(int64_t k) { return (2 * k + 63) / 64 * 64; }

bool LinearStep::can_end_with(const ElementwiseStep& behind) const {
  if (behind.unit() != 1) return false;
  bool reads_results = false;
  for (const ElementwiseStep::Operand& operand : behind.operands()) {
    const size_t part = part_of(operand);
    if (part == parts_.size()) continue;
    if (operand.offset != 0 || behind.count() != input_.rows * parts_[part].channels) return false;
    reads_results = true;
  }
  return reads_results;
}

void LinearStep::end_with(std::unique_ptr<ElementwiseStep> behind) {
  name_ += std::string("+") + behind->name();
  size_t first = parts_.size();
  for (const ElementwiseStep::Operand& operand : behind->operands()) {
    first = std::min(first, part_of(operand));
  }
  // What it reads is to be computed by the same thread.
  for (const ElementwiseStep::Operand& operand : behind->operands()) {
    const size_t other = part_of(operand);
    if (other == parts_.size() || other == first) continue;
    Part& from = parts_[other];
    Part& to = parts_[first];
    std::move(from.outputs.begin(), from.outputs.end(), std::back_inserter(to.outputs));
    std::move(from.behind.begin(), from.behind.end(), std::back_inserter(to.behind));
    to.group_bytes += from.group_bytes;
    groups_ -= from.groups;
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(other));
  }
  parts_[first].behind.push_back(std::move(behind));
}

bool LinearStep::Part::gives(BufferId buffer) const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](const Output& output) { return output.y == buffer; }) ||
         std::any_of(behind.begin(), behind.end(),
                     [&](const auto& step) { return step->result() == buffer; });
}

size_t LinearStep::part_of(const ElementwiseStep::Operand& operand) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&](const Part& p) { return p.gives(operand.buffer); });
  return static_cast<size_t>(part - parts_.begin());
}

void LinearStep::run(const Frame& frame) const noexcept {
  const RowRange rows = frame.counted(input_.rows);
  const int64_t count = rows.end - rows.begin;
  const int64_t stride = prepared_bytes(input_.k);
  auto* prepared = frame.at<uint8_t>(prepared_);
  // A single row is prepared by every member for itself: that takes less time than to wait for one
  // that does it for all.
  const bool alone = input_.rows == 1;
  if (!alone) {
    split_by_member(frame, count, input_.k, [&](int member, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        prepare_row(frame, rows.begin + i, member, prepared + i * stride);
      }
    });
  }
  const auto prepared_by = [&](int member) {
    if (!alone) return Prepared{rows, prepared};
    uint8_t* bytes = prepared + member * stride;
    prepare_row(frame, 0, member, bytes);
    return Prepared{rows, bytes};
  };
  if (!worth_splitting(weight_bytes_ * count)) {
    multiply(frame, prepared_by(0), 0, 0, groups_);
    return;
  }
  const int team = frame.pool->size();
  const auto bound = [&](int member) { return first_group(member, team); };
  frame.pool->share(bound, groups_a_piece(), [&](int member, SharedWork::Pieces pieces) {
    SharedWork::Piece piece = pieces.next();
    if (piece.empty()) return;
    const Prepared x = prepared_by(member);
    for (; !piece.empty(); piece = pieces.next()) {
      multiply(frame, x, member, piece.begin, piece.end);
    }
  });
}

int64_t LinearStep::groups_a_piece() const {
  // Two microseconds of reading.
  constexpr int64_t kPieceBytes = 32 * 1024;
  const int64_t groups = kPieceBytes * groups_ / weight_bytes_ + 1;
  // Several rows are multiplied with several groups at a time.
  constexpr int64_t kTogether = 4;
  return input_.rows == 1 ? groups : (groups + kTogether - 1) / kTogether * kTogether;
}

void LinearStep::prepare_row(const Frame& frame, int64_t row, int member, uint8_t* prepared) const {
  const int64_t at = input_.offset + row * input_.row_stride;
  if (before_ != nullptr) {
    auto* codes = reinterpret_cast<uint16_t*>(
        frame.at<std::byte>(row_codes_, member * row_codes_bytes(input_.k)));
    before_->run_row(frame, row, codes, member);
    frame.kernels->prepare_activation(codes, input_.k, prepared);
  } else if (input_.bytes) {
    frame.kernels->prepare_bytes(frame.at<uint8_t>(input_.buffer, at), input_.k, prepared);
  } else {
    frame.kernels->prepare_activation(frame.at<uint16_t>(input_.buffer, at), input_.k, prepared);
  }
}

int64_t LinearStep::first_group(int member, int team) const {
  int64_t left = weight_bytes_ * member / team;
  int64_t group = 0;
  for (const Part& part : parts_) {
    const int64_t bytes = part.groups * part.group_bytes;
    if (left < bytes) return group + left / part.group_bytes;
    left -= bytes;
    group += part.groups;
  }
  return group;
}

void LinearStep::multiply(const Frame& frame, const Prepared& x, int member, int64_t first_group,
                          int64_t last_group) const {
  int64_t start = 0;  // first group of the part
  for (const Part& part : parts_) {
    const int64_t channels = part.channels;
    const int64_t begin = std::max(first_group - start, int64_t{0});
    const int64_t end = std::min(last_group - start, part.groups);
    start += part.groups;
    if (begin >= end) continue;
    const int64_t first = begin * kPackedChannels;
    const int64_t last = std::min(end * kPackedChannels, channels);
    for (const Output& output : part.outputs) multiply(frame, x, member, output, first, last);
    for (const auto& step : part.behind) {
      for (int64_t row = x.rows.begin; row < x.rows.end; ++row) {
        step->run_range(frame, row * channels + first, row * channels + last);
      }
    }
  }
}

void LinearStep::multiply(const Frame& frame, const Prepared& x, int member, const Output& output,
                          int64_t first_channel, int64_t last_channel) const {
  LinearArgs args;
  args.prepared_stride = prepared_bytes(input_.k);
  args.prepared = x.bytes;
  args.bytes = input_.bytes;
  args.rows = x.rows.end - x.rows.begin;
  args.k = input_.k;
  args.weight_sums = output.weight_sums;
  args.bias = output.bias;
  args.multiplier = output.multiplier.data();
  args.channels = output.channels;
  args.x_zero_point = input_.zero_point;
  args.y_zero_point = output.zero_point;
  args.y_high = output.largest;
  args.y = frame.at<uint16_t>(output.y, x.rows.begin * output.channels);
  args.y_stride = output.channels;
  if (output.int4) {
    args.int4 = {frame.at<uint8_t>(output.weights), output.int4->group_bytes, output.int4->block,
                 frame.at<int8_t>(expanded_, member * int4_scratch_bytes(input_.k))};
    frame.kernels->linear_int4(args, first_channel, last_channel);
  } else {
    args.weights = frame.at<int8_t>(output.weights);
    frame.kernels->linear(args, first_channel, last_channel);
  }
}

}  // namespace lathe
